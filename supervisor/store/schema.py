"""The tables, as migrations that can be run any number of times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlite_utils import Migrations

if TYPE_CHECKING:
    from sqlite_utils import Database

APPLICATION = 0x0FF1CE
"""Says in the file's header whose database it is."""
VERSION = 2
"""Raised with every migration; a database with a higher one is refused."""

migrations = Migrations("office")


@migrations()
def m001_ground_floor(db: Database) -> None:
    for statement in GROUND_FLOOR.split(";"):
        if statement.strip():
            db.execute(statement)


GROUND_FLOOR = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE events (
    seq INTEGER PRIMARY KEY, at REAL NOT NULL, type TEXT NOT NULL, room_id TEXT, agent_id TEXT, body TEXT NOT NULL);
CREATE INDEX events_room ON events (room_id, seq);
CREATE TABLE snapshots (seq INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE rooms (id TEXT PRIMARY KEY, name TEXT NOT NULL, created_at REAL NOT NULL, closed_at REAL);
CREATE TABLE messages (
    id TEXT PRIMARY KEY, seq INTEGER NOT NULL, room_id TEXT NOT NULL, type TEXT NOT NULL, author TEXT NOT NULL,
    author_name TEXT NOT NULL, content TEXT NOT NULL, active INTEGER NOT NULL, at REAL NOT NULL, transcript TEXT);
CREATE INDEX messages_room ON messages (room_id, seq);
CREATE TABLE agent_conversations (
    id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, timestamp REAL NOT NULL, sender TEXT NOT NULL,
    content TEXT NOT NULL, recipient TEXT NOT NULL);
CREATE INDEX agent_conversations_agent ON agent_conversations (agent_id, id);
CREATE TABLE agent_tasks (
    id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, task_name TEXT NOT NULL, status TEXT NOT NULL,
    created_at REAL NOT NULL, completed_at REAL);
CREATE TABLE agent_state_history (
    id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL, old_state TEXT NOT NULL, new_state TEXT NOT NULL,
    timestamp REAL NOT NULL);
CREATE TABLE prompts (
    ask_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, prompt TEXT NOT NULL, status TEXT NOT NULL,
    queued_at REAL NOT NULL, written_at REAL, seen_at REAL, ended_at REAL);
CREATE TABLE tails (session_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, offset INTEGER NOT NULL, before BLOB NOT NULL);
CREATE TABLE processes (agent_id TEXT PRIMARY KEY, pid INTEGER NOT NULL, born REAL NOT NULL);
CREATE TABLE requests (
    client_id TEXT NOT NULL, request_id TEXT NOT NULL, answer TEXT NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (client_id, request_id))
"""


@migrations()
def m002_search(db: Database) -> None:
    """Everything that was said, to be found by its words."""
    db.execute(
        "CREATE VIRTUAL TABLE said USING fts5(content, author_name, author UNINDEXED, room_id UNINDEXED, "
        "message_id UNINDEXED, at UNINDEXED, tokenize = 'unicode61 remove_diacritics 2')"
    )
    db.execute(
        "INSERT INTO said SELECT content, author_name, author, room_id, id, at FROM messages "
        "WHERE type IN ('agent', 'user') ORDER BY seq"
    )
