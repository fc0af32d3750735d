"""The tables of the journal: one SQLite file that holds a whole assessment."""

from __future__ import annotations

FORMAT = 3
WITHOUT_CHECKS = 2  # the format before rows had checksums; such a journal gets them when it is opened

# The events are the judgments. Triggers keep anyone from changing or deleting one, be it our code or a person at an SQL
# prompt. The current value of a field is that of the last event of its (assignment, item, instance, field).
TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE topic (
  task INTEGER NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL, question TEXT NOT NULL, tags TEXT NOT NULL,
  formula_id TEXT NOT NULL, latex TEXT NOT NULL, thread_id INTEGER,
  PRIMARY KEY (task, id)) WITHOUT ROWID;
CREATE TABLE item (
  key TEXT PRIMARY KEY, task INTEGER NOT NULL, topic TEXT NOT NULL, item TEXT NOT NULL, round INTEGER NOT NULL,
  position INTEGER NOT NULL, sampled INTEGER NOT NULL DEFAULT 1, text TEXT NOT NULL DEFAULT '', known_grade INTEGER,
  reason TEXT NOT NULL DEFAULT '', UNIQUE (task, topic, item)) WITHOUT ROWID;
CREATE TABLE instance (
  item TEXT NOT NULL REFERENCES item(key), number INTEGER NOT NULL, formula_id INTEGER, post_id INTEGER,
  PRIMARY KEY (item, number)) WITHOUT ROWID;
CREATE TABLE account (
  name TEXT PRIMARY KEY, role TEXT NOT NULL CHECK (role IN ('assessor', 'organiser', 'team')),
  password_hash TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE session (
  token_hash TEXT PRIMARY KEY, account TEXT NOT NULL REFERENCES account(name), last_seen REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE login_failure (at REAL NOT NULL, name TEXT NOT NULL, address TEXT NOT NULL);
CREATE TABLE assignment (
  id INTEGER PRIMARY KEY, assessor TEXT NOT NULL, task INTEGER NOT NULL, topic TEXT NOT NULL,
  purpose TEXT NOT NULL CHECK (purpose IN ('main', 'dual', 'training', 'extra')), round INTEGER NOT NULL DEFAULT 1,
  UNIQUE (assessor, task, topic, purpose, round));
CREATE TABLE assigned (
  assignment INTEGER NOT NULL REFERENCES assignment(id), position INTEGER NOT NULL,
  item TEXT NOT NULL REFERENCES item(key),
  PRIMARY KEY (assignment, position), UNIQUE (assignment, item)) WITHOUT ROWID;
CREATE TABLE event (
  id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, assessor TEXT NOT NULL, assignment INTEGER NOT NULL,
  item TEXT NOT NULL, instance INTEGER NOT NULL, field TEXT NOT NULL, value TEXT NOT NULL, request_key TEXT NOT NULL,
  UNIQUE (assignment, request_key, item, instance, field));
CREATE INDEX event_of_field ON event (assignment, item, instance, field, id);
CREATE TRIGGER event_no_update BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
CREATE TRIGGER event_no_delete BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;
-- REPLACE deletes a row without firing the trigger above.
CREATE TRIGGER event_no_replace BEFORE INSERT ON event WHEN EXISTS (SELECT 1 FROM event WHERE id = NEW.id)
  BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;
-- A repeated request is stored once.
CREATE TRIGGER event_stored_once BEFORE INSERT ON event
  WHEN EXISTS (SELECT 1 FROM event WHERE assignment = NEW.assignment AND request_key = NEW.request_key
    AND item = NEW.item AND instance = NEW.instance AND field = NEW.field)
  BEGIN SELECT RAISE(IGNORE); END;
"""
