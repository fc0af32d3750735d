"""A real Turkle server in a temporary folder: a Django site with SQLite, created for the tests."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

PASSWORD = "turkle pass word"

SETTINGS = """
import os
SECRET_KEY = "only for this test"
DEBUG = True
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "urls"
USE_TZ = True
TURKLE_AUTO_ACCEPT_DEFAULT = False
TIME_ZONE = "UTC"
STATIC_URL = "/static/"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "index"
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
INSTALLED_APPS = [
    "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "django.contrib.messages",
    "django.contrib.staticfiles", "turkle", "django.contrib.admin", "rest_framework", "rest_framework.authtoken",
    "turkle.api", "guardian", "djaa_list_filter2",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware", "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware", "django.contrib.messages.middleware.MessageMiddleware",
]
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend", "guardian.backends.ObjectPermissionBackend"]
TEMPLATES = [{
    "BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
    "OPTIONS": {"context_processors": [
        "django.template.context_processors.request", "django.contrib.auth.context_processors.auth",
        "django.contrib.messages.context_processors.messages", "turkle.utils.turkle_vars",
    ]},
}]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.path.join(os.path.dirname(__file__), "db.sqlite3")}}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.TokenAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAdminUser"],
    "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.PageNumberPagination", "PAGE_SIZE": 2,
}
"""
URLS = """
from django.contrib import admin
from django.urls import include, path
urlpatterns = [
    path("admin/", admin.site.urls), path("", include("django.contrib.auth.urls")),
    path("", include("turkle.urls")), path("api/", include("turkle.api.urls")),
]
"""
MANAGE = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
from django.core.management import execute_from_command_line
execute_from_command_line(sys.argv)
"""


@dataclass(frozen=True)
class Site:
    """The address of the site, its API token and its administrator."""

    url: str
    token: str
    admin: str = "admin"
    password: str = PASSWORD


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def turkle_site(folder: Path) -> Iterator[Site]:
    """Create and start the site; stop it at the end."""
    for name, text in (("settings.py", SETTINGS), ("urls.py", URLS), ("manage.py", MANAGE)):
        (folder / name).write_text(text)
    environment = os.environ | {"DJANGO_SUPERUSER_PASSWORD": PASSWORD, "PYTHONDONTWRITEBYTECODE": "1"}

    def manage(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments], cwd=folder, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    manage("migrate", "--verbosity", "0")
    manage("createsuperuser", "--noinput", "--username", "admin", "--email", "admin@example.org")
    token = re.search(r"[0-9a-f]{40}", manage("drf_create_token", "admin"))
    port = free_port()
    with open(folder / "server.log", "w") as log:
        command = [sys.executable, "manage.py", "runserver", f"127.0.0.1:{port}", "--noreload"]
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}"
        for _ in range(300):
            with contextlib.suppress(httpx.TransportError):
                httpx.get(url + "/login/")
                break
            assert server.poll() is None, (folder / "server.log").read_text()
            time.sleep(0.1)
        yield Site(url, token[0] if token else "")
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(10)
