"""Write the eight XML files of a Stack Exchange dump."""

from __future__ import annotations

import csv
import re
import uuid
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from xml.sax.saxutils import escape

from . import derive
from .derive import Calendar
from .markup import to_html
from .source import Post

SITE = "https://math.stackexchange.com"
DUPLICATE, RELATED = "3", "1"
LINKED = re.compile(r"\]\(([a-z0-9/-]+)\)")
Row = dict[str, object]


def write_xml(path: Path, root: str, rows: list[Row]) -> None:
    """Write a row per line, with a byte order mark and line ends as character references, as in real dumps."""
    lines = ['\ufeff<?xml version="1.0" encoding="utf-8"?>', f"<{root}>"]
    for row in rows:
        cells = " ".join(f'{name}="{_attribute(value)}"' for name, value in row.items() if value is not None)
        lines.append(f"  <row {cells} />")
    path.write_text("\n".join([*lines, f"</{root}>"]) + "\n", encoding="utf-8", newline="\n")


def _attribute(value: object) -> str:
    text = _stamp(value) if isinstance(value, datetime) else str(value)
    return escape(text, {'"': "&quot;", "\n": "&#xA;", "\t": "&#x9;"})


def _stamp(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")


class Dump:
    """The dump of questions and users."""

    def __init__(self, questions: list[Post], users: Path) -> None:
        """Read the table of users and derive ids and times."""
        self.questions = questions
        self.calendar = Calendar(questions)
        self.ids = self.calendar.id
        with users.open(encoding="utf-8", newline="") as lines:
            self.users = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))

    def write(self, folder: Path) -> None:
        """Write all eight files."""
        folder.mkdir(parents=True, exist_ok=True)
        write_xml(folder / "Posts.xml", "posts", [self._post(post) for post in self.calendar.posts])
        write_xml(folder / "Comments.xml", "comments", self._comments())
        write_xml(folder / "PostLinks.xml", "postlinks", self._links())
        write_xml(folder / "Tags.xml", "tags", self._tags())
        write_xml(folder / "Users.xml", "users", self._users())
        write_xml(folder / "Votes.xml", "votes", self._votes())
        write_xml(folder / "Badges.xml", "badges", self._badges())
        write_xml(folder / "PostHistory.xml", "posthistory", self._history())

    def link(self, key: str) -> str:
        """Return the URL of a post: absolute for questions, relative for answers, as both occur in real dumps."""
        if "/" in key:
            return f"/a/{self.ids[key]}"
        question = next(q for q in self.questions if q.key == key)
        words = re.sub(r"\$[^$]*\$|[^a-z0-9 ]", "", question.title.lower()).split()
        return f"{SITE}/questions/{self.ids[key]}/{'-'.join(words)}"

    def _post(self, post: Post) -> Row:
        last = post.revisions[-1] if post.revisions else None
        made = self.calendar.time[post.key]
        row: Row = {"Id": self.ids[post.key], "PostTypeId": 1 if post.is_question else 2}
        if post.parent is not None:
            row["ParentId"] = self.ids[post.parent.key]
        accepted = next((a for a in post.answers if "accepted" in a.options), None)
        row["AcceptedAnswerId"] = self.ids[accepted.key] if accepted else None
        row |= {"CreationDate": made, "Score": post.score}
        row["ViewCount"] = derive.views(post) if post.is_question else None
        row["Body"] = to_html(post.text, self.link, "spans" in (post.parent or post).options)
        row |= {"OwnerUserId": post.by, "OwnerDisplayName": post.options.get("ghost")}
        row["LastEditorUserId"] = last.by if last else None
        row["LastEditDate"] = self._edited(last.date, post) if last else None
        row["LastActivityDate"] = max(self.calendar.time[p.key] for p in (post, *post.answers))
        row["CommunityOwnedDate"] = made if "wiki" in post.options else None
        row["ClosedDate"] = self._closed(post)
        if post.is_question:
            row |= {"Title": post.title, "Tags": "".join(f"<{tag}>" for tag in post.tags)}
            row["AnswerCount"] = len(post.answers)
        row["CommentCount"] = len(post.comments)
        row["FavoriteCount"] = derive.favourites(post) or None
        return row

    def _closed(self, post: Post) -> datetime | None:
        reason = post.options.get("dup") or post.options.get("closed")
        return self.calendar.time[post.key] + timedelta(hours=9) if reason else None

    def _edited(self, date: str, post: Post) -> datetime:
        return datetime.fromisoformat(date) + timedelta(seconds=derive.number(post.key + " edit", 80000))

    def _comments(self) -> list[Row]:
        return [
            {
                "Id": number,
                "PostId": self.ids[post.key],
                "Score": comment.score,
                "Text": re.sub(r"\]\(([a-z0-9/-]+)\)", lambda m: f"]({self.link(m[1])})", comment.text),
                "CreationDate": when,
                "UserDisplayName": "user2718" if comment.by is None else None,
                "UserId": comment.by,
            }
            for number, (when, post, comment) in enumerate(self.calendar.comments(), 1)
        ]

    def _links(self) -> list[Row]:
        found: dict[tuple[int, int, str], datetime] = {}
        for post in self.calendar.posts:
            question = post.parent or post
            texts = [post.text, *(comment.text for comment in post.comments)]
            targets = [(key.split("/")[0], RELATED) for text in texts for key in LINKED.findall(text)]
            targets += [(key, RELATED) for key in post.options.get("rel", "").split(",") if key]
            targets += [(key, DUPLICATE) for key in post.options.get("dup", "").split(",") if key]
            for key, kind in targets:
                if key != question.key:
                    pair = (self.ids[question.key], self.ids[key], kind)
                    later = max(self.calendar.time[post.key], self.calendar.time[key])
                    found.setdefault(pair, later + timedelta(hours=9 if kind == DUPLICATE else 1))
        ordered = sorted(found.items(), key=lambda item: (item[1], item[0]))
        return [
            {"Id": n, "CreationDate": when, "PostId": a, "RelatedPostId": b, "LinkTypeId": kind}
            for n, ((a, b, kind), when) in enumerate(ordered, 1)
        ]

    def _tags(self) -> list[Row]:
        counts = Counter(tag for question in self.questions for tag in question.tags)
        return [{"Id": n, "TagName": tag, "Count": counts[tag]} for n, tag in enumerate(sorted(counts), 1)]

    def _users(self) -> list[Row]:
        points = derive.reputation(self.calendar)
        rows: list[Row] = []
        for user in self.users:
            ident = int(user["id"])
            rows.append(
                {
                    "Id": ident,
                    "Reputation": points.get(ident, 1),
                    "CreationDate": f"{user['joined']}T{7 + ident % 12:02}:15:{ident % 60:02}.000",
                    "DisplayName": user["name"],
                    "LastAccessDate": "2019-06-02T06:30:00.000",
                    "Location": user["location"] or None,
                    "AboutMe": f"<p>{user['about']}</p>\n" if user["about"] else None,
                    "Views": derive.number(f"user {ident} views", 900),
                    "UpVotes": derive.number(f"user {ident} ups", 500),
                    "DownVotes": derive.number(f"user {ident} downs", 30),
                    "AccountId": 7000 + ident,
                }
            )
        return rows

    def _votes(self) -> list[Row]:
        users = [int(user["id"]) for user in self.users if int(user["id"]) > 0]
        return [
            {
                "Id": n,
                "PostId": v.post,
                "VoteTypeId": v.kind,
                "UserId": v.user,
                "CreationDate": v.date,
                "BountyAmount": v.amount,
            }
            for n, v in enumerate(derive.votes(self.calendar, users), 1)
        ]

    def _badges(self) -> list[Row]:
        return [
            {"Id": n, "UserId": user, "Name": name, "Date": when, "Class": rank, "TagBased": "False"}
            for n, (when, user, name, rank) in enumerate(derive.badges(self.calendar), 1)
        ]

    def _history(self) -> list[Row]:
        rows: list[Row] = []
        for post in self.calendar.posts:
            rows += self._history_of(post)
        ordered = sorted(
            rows, key=lambda row: (str(row["CreationDate"]), str(row["PostId"]), str(row["PostHistoryTypeId"]))
        )
        return [{"Id": n, **row} for n, row in enumerate(ordered, 1)]

    def _history_of(self, post: Post) -> list[Row]:
        """Write PostHistory: first title, body and tags, every edit of the body, and the closing, in the author's markup."""
        made, ident = self.calendar.time[post.key], self.ids[post.key]

        def event(kind: int, when: datetime, user: int | None, text: str, comment: str = "") -> Row:
            guid = uuid.uuid5(uuid.NAMESPACE_URL, f"{post.key} {_stamp(when)}")
            start: Row = {"PostHistoryTypeId": kind, "PostId": ident, "RevisionGUID": guid, "CreationDate": when}
            return {**start, "UserId": user, "Comment": comment, "Text": text}

        texts = [text.replace("!html\n", "") for text in (*(r.text for r in post.revisions), post.text)]
        rows = [event(2, made, post.by, texts[0])]
        if post.is_question:
            rows += [event(1, made, post.by, post.title), event(3, made, post.by, "".join(f"<{t}>" for t in post.tags))]
        for revision, text in zip(post.revisions, texts[1:], strict=True):
            rows.append(event(5, self._edited(revision.date, post), revision.by, text, revision.reason))
        if closed := self._closed(post):
            rows.append(event(10, closed, 1, "", "101" if "dup" in post.options else "103"))
        return rows
