"""What people take away: feeds, files, citations, the description as a search engine; attribution of posts."""

from __future__ import annotations

import csv
import dataclasses
import io
import re
from pathlib import Path
from random import Random
from urllib.parse import quote

import pytest
from lxml import etree
from starlette.testclient import TestClient

from notes_site import make_notes_index
from porism.corpus.post import Post
from porism.search.engine import Engine
from porism.text.segment import EMPTY, Segment, Text
from porism.web.pages import exports
from porism.web.pages.attribution import Attribution, bibtex_entry
from porism.web.server.app import create_app
from porism.web.site.settings import Posts, ServerOptions, SiteSettings

ATOM = "{http://www.w3.org/2005/Atom}"
QUERY = "proof that $\\sqrt{2}$ is irrational"

SITE = SiteSettings(posts=Posts(site="math.stackexchange.com"), server=ServerOptions(cors=("https://notes.example",)))


@pytest.fixture(scope="module")
def client(demo: Path) -> TestClient:
    app = create_app(Engine.open(demo / "index"), SITE)
    return TestClient(app, base_url="http://localhost")


def test_a_query_has_an_atom_feed_with_the_newest_posts_first(client: TestClient) -> None:
    response = client.get("/search.atom", params={"q": QUERY})
    assert response.headers["content-type"].startswith("application/atom+xml")
    feed = etree.fromstring(response.content)
    dates = [one.text for one in feed.iter(f"{ATOM}updated")][1:]
    assert len(dates) > 5
    assert dates == sorted(dates, reverse=True)
    assert feed.find(f"{ATOM}updated").text == dates[0]
    assert all(one.text.startswith("http://localhost/posts/") for one in feed.iterfind(f"{ATOM}entry/{ATOM}id"))


def test_hits_are_exported_as_csv_json_and_bibtex(client: TestClient) -> None:
    rows = list(csv.DictReader(io.StringIO(client.get("/export", params={"q": QUERY, "format": "csv"}).text)))
    assert [row["rank"] for row in rows[:3]] == ["1", "2", "3"]
    assert "irrational" in rows[0]["title"]
    data = client.get("/export", params={"q": QUERY, "format": "json"}).json()
    assert [str(hit["id"]) for hit in data["hits"]] == [row["id"] for row in rows]
    entries = client.get("/export", params={"q": QUERY, "format": "bibtex"})
    assert entries.text.count("@misc{post") == len(rows)
    assert entries.headers["content-disposition"] == 'attachment; filename="porism-hits.bib"'


def test_an_unknown_format_is_an_error(client: TestClient) -> None:
    assert client.get("/export", params={"q": QUERY, "format": "word"}).status_code == 422


def test_a_post_is_cited_with_author_and_original(client: TestClient) -> None:
    hit = client.get("/v1/search", params={"q": QUERY}).json()["data"]["hits"][0]
    entry = client.get(f"/posts/{hit['id']}/cite").text
    assert entry.startswith(f"@misc{{post{hit['id']},")
    assert "author = {{" in entry
    assert f"https://math.stackexchange.com/a/{hit['id']}" in entry


def test_special_characters_are_escaped_in_bibtex() -> None:
    title = Text.of([Segment("text", "50% & more: "), Segment("formula", "a_1^2", 1, 1)])
    question = Post(7, "question", 7, EMPTY, title, created="2015-02-03T00:00:00")
    entry = bibtex_entry(question, question, "A_B", "https://x.example/q/7")
    assert "title = {50\\% \\& more: $a_1^2$}" in entry
    assert "author = {{A\\_B}}" in entry
    assert "year = {2015}" in entry


def depths(entry: str) -> list[int]:
    """Return how deep in braces each character is, as BibTeX counts: a backslash changes nothing."""
    found, depth = [], 0
    for sign in entry:
        depth += (sign == "{") - (sign == "}")
        found.append(depth)
    return found


HOSTILE_FORMULAS = (
    "x}, author = {Mallory}, note = {",
    "}} @misc{evil, title = {x",
    r"\}, note = {\input{/etc/passwd}",
    r"\input{/etc/passwd}",
    r"\immediate\write18{id}",
    r"^^5cinput{x}",
    r"\def\x{\input{y}}\x",
    r"\text{\input{x}}",
    r"\csname input\endcsname x",
    r"a $ \input{x} $ b",
    "a % b",
    "\\",
    "{" * 50,
    "a\x00b\u2028c",
)


@pytest.mark.parametrize("latex", HOSTILE_FORMULAS)
def test_no_formula_leaves_its_field_of_bibtex_or_is_executed(latex: str) -> None:
    for title in (Text.of([Segment("formula", latex, 1, 1)]), Text.of([Segment("text", latex)])):
        question = Post(7, "question", 7, EMPTY, title, created="}, x = {")
        entry = bibtex_entry(question, question, latex, f"https://x.example/{latex}")
        assert min(depths(entry)[:-2]) == 0 == depths(entry)[-1]
        assert [at for at, depth in enumerate(depths(entry)) if not depth][5:] == [len(entry) - 2, len(entry) - 1]
        assert not re.search(r"\\(?:input|write|immediate|csname|def)\b", entry)
        assert "^^" not in entry
        names = re.findall(r"^  ([a-z]+) = \{", entry, re.MULTILINE)
        assert names == ["author", "title", "howpublished", "note"]


def test_any_title_stays_in_its_field_of_bibtex() -> None:
    random = Random("bibtex")
    for _ in range(2000):
        text = "".join(random.choices('{}\\$%@,="#^~&ax \n', k=random.randrange(1, 30)))
        title = Text.of([Segment(random.choice(("text", "formula")), text, 1, 1)])
        entry = bibtex_entry(Post(7, "question", 7, EMPTY, title), Post(7, "question", 7, EMPTY, title), "", "")
        assert [at for at, depth in enumerate(depths(entry)) if not depth][5:] == [len(entry) - 2, len(entry) - 1]


@pytest.mark.parametrize(
    ("latex", "shown"),
    [
        (r"\{x \mid x^2 < 2\}", r"$\lbrace x \mid x^2 < 2\rbrace $"),
        (r"\left\{x\right.", r"$\left\lbrace x\right.$"),
        (r"\frac{a}{b}\\c", None),
    ],
)
def test_ordinary_formulas_stay_formulas(latex: str, shown: str | None) -> None:
    question = Post(7, "question", 7, EMPTY, Text.of([Segment("formula", latex, 1, 1)]))
    entry = bibtex_entry(question, question, "", "")
    assert f"title = {{{shown}}}" in entry if shown else "title = {$" in entry


FORBIDDEN = "".join(map(chr, (*range(9), 11, 12, *range(14, 32), 0x7F, 0xD800, 0xDFFF, 0xFFFE, 0xFFFF, 0x1FFFE)))


@pytest.mark.parametrize("sign", [*FORBIDDEN, "]]>", "<!--", "&#0;", "&#xFFFF;", '"', "'"])
def test_a_feed_is_well_formed_for_every_character(client: TestClient, sign: str) -> None:
    query = quote(f"root {sign} two", errors="surrogatepass")
    answer = client.get(f"/search.atom?q={query}")
    if answer.status_code == 200:
        feed = etree.fromstring(answer.content)
        assert feed.findtext(f"{ATOM}title", "").startswith("root ")
    else:
        assert answer.status_code == 422


def test_dates_that_are_none_do_not_break_a_feed() -> None:
    for created in ("", "yesterday", "<b>2020</b>", "2020-01-01", "2020-01-01T10:20:30.123", "2020-01-01 10:20:30"):
        assert re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z", exports._time(created))


def test_tags_and_titles_are_no_formulas_of_a_spreadsheet(tmp_path: Path) -> None:
    index = make_notes_index(tmp_path)
    engine = Engine.open(index)
    found = engine.search("cubes", k=5)
    hostile = dataclasses.replace(
        found.hits[0],
        tags=("=cmd|'/c", "+1"),
        title=(dataclasses.replace(found.hits[0].title[0], kind="text", text=" \t@SUM(1)"),),
    )
    rows = list(csv.reader(io.StringIO(exports._csv(dataclasses.replace(found, hits=[hostile]), "http://x"))))
    assert rows[1][8] == "'=cmd|'/c +1"
    assert rows[1][9] == "'@SUM(1)"


@pytest.mark.parametrize(
    ("created", "licence"),
    [("2010-09-01", "CC BY-SA 2.5"), ("2012-01-01", "CC BY-SA 3.0"), ("2019-01-01", "CC BY-SA 4.0"), ("", "CC BY-SA")],
)
def test_the_licence_follows_the_date_of_a_post(created: str, licence: str) -> None:
    found = Attribution("math.stackexchange.com").licence(Post(1, "question", 1, EMPTY, created=created))
    assert found is not None
    assert found.name == licence
    assert Attribution("notes.example").licence(Post(1, "question", 1, EMPTY)) is None


def test_the_thread_page_names_authors_originals_and_the_licence(client: TestClient) -> None:
    hit = client.get("/v1/search", params={"q": QUERY}).json()["data"]["hits"][0]
    page = client.get(f"/threads/{hit['thread_id']}", params={"q": QUERY}).text
    assert 'class="author"' in page
    assert f'href="https://math.stackexchange.com/a/{hit["id"]}"' in page
    assert "CC BY-SA 3.0" in page or "CC BY-SA 4.0" in page
    assert "← Back to the results" in page
    assert "<mark>" in page
    assert "<mark>" not in client.get(f"/threads/{hit['thread_id']}").text


def test_the_site_describes_itself_as_a_search_engine_with_suggestions(client: TestClient) -> None:
    root = etree.fromstring(client.get("/opensearch.xml").content)
    templates = [one.get("template") for one in root.iter("{http://a9.com/-/spec/opensearch/1.1/}Url")]
    assert "http://localhost/search?q={searchTerms}" in templates
    typed, titles = client.get("/suggest", params={"q": "irrational"}).json()
    assert typed == "irrational"
    assert any("irrational" in title for title in titles)
    assert client.get("/suggest", params={"q": ""}).json() == ["", []]


def test_a_question_that_was_asked_is_found_by_title_and_body(client: TestClient) -> None:
    found = client.get("/v1/asked", params={"title": "root two irrational", "body": "Why is $\\sqrt{2}$ irrational?"})
    titles = ["".join(one["text"] for one in hit["title"]) for hit in found.json()["data"]["hits"]]
    assert len(titles) == 5
    assert any("irrational" in title for title in titles)


def test_only_allowed_sites_may_embed_the_frame(client: TestClient) -> None:
    policy = client.get("/ask-box/frame", params={"title": "irrational"}).headers["content-security-policy"]
    assert "frame-ancestors 'self' https://notes.example" in policy
    assert "script-src" not in policy
    assert "frame-ancestors 'none'" in client.get("/").headers["content-security-policy"]


def test_a_theme_has_colours_and_nothing_else(client: TestClient) -> None:
    css = client.get("/ask-box/theme.css", params={"accent": "#123456", "text": "red;} body{display:none"}).text
    assert css == ":root { --accent: #123456; }\n"


def test_the_api_page_lists_every_call_and_has_forms(client: TestClient) -> None:
    page = client.get("/api").text
    paths = client.get("/v1/openapi.json").json()["paths"]
    for path, methods in paths.items():
        assert f"{path}</code></h2>" in page
        if any("security" not in operation for operation in methods.values()):
            assert f'data-path="{path}"' in page
    response = client.get("/api/try", params={"path": "/v1/posts/{id}", "id": "7"}, follow_redirects=False)
    assert response.headers["location"] == "/v1/posts/7"
    assert client.get("/api/try", params={"path": "//evil.example/{id}", "id": "7"}).status_code == 422


def test_pictures_of_other_machines_need_the_operators_consent(demo: Path) -> None:
    from porism.text.page import remote_picture

    assert remote_picture("a plot", "http://i.example/a.png").startswith('<img src="https://i.example/a.png"')
    assert remote_picture("x", "javascript:alert(1)") == "<em>[picture: x]</em>"
    with TestClient(
        create_app(Engine.open(demo / "index"), SiteSettings(posts=Posts(remote_images=True))),
        base_url="http://localhost",
    ) as site:
        assert "img-src 'self' data: https:" in site.get("/").headers["content-security-policy"]
