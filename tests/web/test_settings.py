"""The settings of a site: reading, problems with lines, precedence, and what is generated from the table."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from porism.cli import main
from porism.errors import PorismError
from porism.web.site.reading import GivenSetting, check_settings, key_lines, read_settings
from porism.web.site.settings import SiteSettings, all_settings, reference_page, template_text

ROOT = Path(__file__).resolve().parents[2]
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def write(folder: Path, text: str) -> Path:
    path = folder / "site.toml"
    path.write_text(text, "utf-8")
    return path


def test_a_file_gives_settings(tmp_path: Path) -> None:
    text = """
[site]
title = "Notes"
base_url = "https://notes.example/"
[posts]
original_link = "https://example.org/{kind}/{id}"
[pages]
tabs = ["questions", "formulas"]
[limits]
seconds = 3
"""
    site = read_settings(write(tmp_path, text)).checked()
    assert site.site.title == "Notes"
    assert site.site.base_url == "https://notes.example"
    assert site.pages.tabs == ("questions", "formulas")
    assert site.limits.seconds == 3.0
    assert site.endpoint == SiteSettings().endpoint


def test_assignments_win_over_the_file_and_options_over_both(tmp_path: Path) -> None:
    path = write(tmp_path, '[site]\ntitle = "File"\nheading = "File"\nattribution = "File"\n')
    options = [GivenSetting("site.attribution", "Option", "--attribution", tmp_path)]
    site = read_settings(path, ["site.heading=Set", "site.attribution=Set"], options).checked().site
    assert (site.title, site.heading, site.attribution) == ("File", "Set", "Option")


def test_values_of_assignments_need_no_quotation_marks() -> None:
    texts = ["site.title=123", "pages.tabs=ask,formulas", "posts.remote_images=true", "limits.queue=7"]
    site = read_settings(None, texts).checked()
    assert (site.site.title, site.pages.tabs) == ("123", ("ask", "formulas"))
    assert (site.posts.remote_images, site.limits.queue) == (True, 7)


def test_all_problems_are_reported_with_their_lines(tmp_path: Path) -> None:
    text = """[site]
titel = "x"
title = 3
base_url = "https://example.org/search"

[posts]
original_link = "https://example.org/x"
licence_url = "javascript:alert(1)"

[theme]
accent = "red; } body { display: none"

[licence]
name = "x"

[pages]
tabs = [
  "answers",
  "formula",
]
default_sort = "vote"
"""
    path = write(tmp_path, text)
    found = {problem.where.rpartition(":")[2]: problem for problem in read_settings(path).problems}
    assert sorted(found, key=int) == ["2", "3", "4", "7", "8", "11", "13", "17", "21"]
    assert found["2"].message == "there is no setting 'site.titel'"
    assert found["2"].fix == "did you mean site.title?"
    assert found["13"].fix == "did you mean posts.licence?"
    assert found["21"].fix == "did you mean votes?"
    with pytest.raises(PorismError, match="no setting") as error:
        read_settings(path).checked()
    assert "8 more" in error.value.fix


def test_a_syntax_error_has_its_line(tmp_path: Path) -> None:
    (problem,) = read_settings(write(tmp_path, '[site]\ntitle = "x"\nlogo = \n')).problems
    assert problem.where.endswith("site.toml:3")
    assert "is not TOML" in problem.message


def test_lines_of_keys_skip_texts_of_several_lines() -> None:
    text = 'a.b = 1\n[c]\nd = """\nb = 2\n"""\n"e" = { f = 3 }\n'
    assert key_lines(text) == {"a.b": 1, "c": 2, "c.d": 3, "c.e": 6}


@pytest.mark.parametrize(
    ("value", "valid"),
    [
        ("#123", True),
        ("#a1B2c3", True),
        ("rebeccapurple", True),
        ("rgb(1, 2, 3)", True),
        ("hsl(200 50% 40%)", True),
        ("rgb(300, 0, 0)", False),
        ("url(https://evil.example)", False),
        ("#12", False),
        ("var(--x)", False),
        ("red}", False),
        ("currentcolor", False),
    ],
)
def test_only_colours_are_colours(value: str, valid: bool) -> None:
    assert (not read_settings(None, [f"theme.accent={value}"]).problems) == valid


@pytest.mark.parametrize(
    "value",
    [
        "javascript:alert(1)//{id}",
        "https://example.org/{id!r}",
        "https://example.org/{id.real}",
        "https://example.org/{}",
        "https://example.org/{id",
        "https://example.org/{owner}",
        'https://example.org/"{id}',
    ],
)
def test_a_link_pattern_has_only_its_placeholders(value: str) -> None:
    assert read_settings(None, [f"posts.original_link={value}"]).problems


def test_colours_that_cannot_be_read_are_a_warning() -> None:
    reading = read_settings(None, ["theme.text=#999", "dark.accent=#111"])
    checked = check_settings(reading)
    assert not checked.problems
    facts = [warning.message for warning in checked.warnings]
    assert any(fact.startswith("theme.text on theme.background has a contrast of 2.7") for fact in facts)
    assert any(fact.startswith("dark.accent on dark.surface") for fact in facts)
    assert not check_settings(read_settings(None, ["theme.text=black"])).warnings


@pytest.mark.parametrize(
    ("content", "fact"),
    [
        (PNG, ""),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><path d='M0 0'/></svg>", ""),
        (b"<svg><script>alert(1)</script></svg>", "has scripts or references"),
        (b"<svg onload='alert(1)'></svg>", "has scripts or references"),
        (b"GIF89a" + bytes(20), "no picture that pages show"),
        (PNG + bytes(200_000), "larger than 200,000 bytes"),
        (None, "No such file"),
    ],
)
def test_a_logo_is_a_small_safe_picture(tmp_path: Path, content: bytes | None, fact: str) -> None:
    if content is not None:
        (tmp_path / "logo").write_bytes(content)
    checked = check_settings(read_settings(write(tmp_path, '[site]\nlogo = "logo"\n')))
    assert bool(checked.problems) == bool(fact)
    assert all(fact in problem.message and problem.where.endswith(":2") for problem in checked.problems)


def test_the_template_changes_nothing_and_names_every_setting() -> None:
    text = template_text()
    tomllib.loads(text)
    given = "\n".join(
        line[1:] if line.startswith("#") and not line.startswith("# ") else line for line in text.splitlines()
    )
    table = tomllib.loads(given)
    assert {f"{section}.{name}" for section, names in table.items() for name in names} == set(all_settings())


def test_defaults_are_valid(tmp_path: Path) -> None:
    text = template_text()
    given = "\n".join(
        line[1:] if line.startswith("#") and not line.startswith("# ") else line for line in text.splitlines()
    )
    assert read_settings(write(tmp_path, given)).checked() == SiteSettings()


def test_every_setting_is_on_the_reference_page() -> None:
    assert (ROOT / "docs/reference/settings.md").read_text("utf-8") == reference_page()
    assert all(f"`{key}`" in reference_page() for key in all_settings())


def test_check_prints_all_problems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, '[site]\ntitel = "x"\n[limits]\nqueue = -1\n')
    assert main(["serve", "--site", str(path), "--check"]) == 1
    out = capsys.readouterr().out
    assert f"{path}:2: there is no setting 'site.titel'\n  fix: did you mean site.title?" in out
    assert f"{path}:4: limits.queue is out of range" in out
    assert main(["serve", "--site", str(write(tmp_path, "[site]\n")), "--queue", "5", "--check"]) == 0
    assert "1 of " in capsys.readouterr().out


def test_check_names_an_index_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", str(tmp_path), "--check"]) == 1
    assert "not a Porism index" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("[limits]\nseconds = " + "9" * 400, "is not a time in seconds"),
        ("[limits]\nseconds = nan", "is not a time in seconds"),
        ("[limits]\nseconds = " + "9" * 5000, "a number has too many digits"),
        ("[site]\ntitle = " + "[" * 50_000, "lists or tables are nested too deeply"),
        ("a." * 50_000 + "b = 1", "a key has too many parts"),
        ("x = {" + "a." * 50_000 + "b = 1}", "a key has too many parts"),
    ],
)
def test_hostile_files_have_a_problem_and_no_error(tmp_path: Path, text: str, fact: str) -> None:
    (tmp_path / "site.toml").write_text(text)
    assert any(fact in problem.message for problem in read_settings(tmp_path / "site.toml").problems)
