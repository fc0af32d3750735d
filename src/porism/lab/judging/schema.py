"""The tables of the journal: one SQLite file that holds a whole assessment."""

from __future__ import annotations

FORMAT = 1

# The events are the judgments. Nothing may change or erase one: not our code by mistake, not a person with a SQL prompt
# by accident. What stands is the last event of each (assignment, item, instance, field).
TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE topic (
  task INTEGER NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL, question TEXT NOT NULL, tags TEXT NOT NULL,
  formula_id TEXT NOT NULL, latex TEXT NOT NULL, thread_id INTEGER,
  PRIMARY KEY (task, id)) WITHOUT ROWID;
CREATE TABLE item (
  key TEXT PRIMARY KEY, task INTEGER NOT NULL, topic TEXT NOT NULL, item TEXT NOT NULL, round INTEGER NOT NULL,
  place INTEGER NOT NULL, sampled INTEGER NOT NULL DEFAULT 1, text TEXT NOT NULL DEFAULT '', known INTEGER,
  reason TEXT NOT NULL DEFAULT '', UNIQUE (task, topic, item)) WITHOUT ROWID;
CREATE TABLE instance (
  item TEXT NOT NULL REFERENCES item(key), number INTEGER NOT NULL, formula_id INTEGER, post_id INTEGER,
  PRIMARY KEY (item, number)) WITHOUT ROWID;
CREATE TABLE account (
  name TEXT PRIMARY KEY, role TEXT NOT NULL CHECK (role IN ('assessor', 'organiser', 'team')), secret TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE session (
  token TEXT PRIMARY KEY, account TEXT NOT NULL REFERENCES account(name), seen REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE failure (at REAL NOT NULL, name TEXT NOT NULL, address TEXT NOT NULL);
CREATE TABLE assignment (
  id INTEGER PRIMARY KEY, assessor TEXT NOT NULL, task INTEGER NOT NULL, topic TEXT NOT NULL,
  purpose TEXT NOT NULL CHECK (purpose IN ('main', 'dual', 'training', 'extra')), round INTEGER NOT NULL DEFAULT 1,
  UNIQUE (assessor, task, topic, purpose, round));
CREATE TABLE assigned (
  assignment INTEGER NOT NULL REFERENCES assignment(id), place INTEGER NOT NULL, item TEXT NOT NULL REFERENCES item(key),
  PRIMARY KEY (assignment, place), UNIQUE (assignment, item)) WITHOUT ROWID;
CREATE TABLE event (
  id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, assessor TEXT NOT NULL, assignment INTEGER NOT NULL,
  item TEXT NOT NULL, instance INTEGER NOT NULL, field TEXT NOT NULL, value TEXT NOT NULL, once TEXT NOT NULL,
  UNIQUE (assignment, once, item, instance, field));
CREATE INDEX event_place ON event (assignment, item, instance, field, id);
CREATE TRIGGER event_stays_1 BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
CREATE TRIGGER event_stays_2 BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'events are never erased'); END;
-- REPLACE would erase without asking the trigger above.
CREATE TRIGGER event_stays_3 BEFORE INSERT ON event WHEN EXISTS (SELECT 1 FROM event WHERE id = NEW.id)
  BEGIN SELECT RAISE(ABORT, 'events are never erased'); END;
-- A request that comes again is stored once.
CREATE TRIGGER event_once BEFORE INSERT ON event
  WHEN EXISTS (SELECT 1 FROM event WHERE assignment = NEW.assignment AND once = NEW.once AND item = NEW.item AND instance = NEW.instance AND field = NEW.field)
  BEGIN SELECT RAISE(IGNORE); END;
"""
