-- Accounts: keys that a build gets for a token of its issuer, and where a key was used last.
ALTER TABLE api_keys ADD COLUMN kind TEXT NOT NULL DEFAULT 'key';
ALTER TABLE api_keys ADD COLUMN used_from TEXT NOT NULL DEFAULT '';
CREATE INDEX api_keys_by_org ON api_keys (org_id);

-- Fingerprints of the keys that must sign what an organization publishes, one a line; empty asks for none.
ALTER TABLE organizations ADD COLUMN signers TEXT NOT NULL DEFAULT '';

CREATE TABLE bindings (
	id TEXT PRIMARY KEY,
	org_id TEXT NOT NULL REFERENCES organizations (id),
	issuer TEXT NOT NULL,
	repository TEXT NOT NULL,
	workflow TEXT NOT NULL,
	environment TEXT NOT NULL,
	pattern TEXT NOT NULL,
	created_at {int} NOT NULL,
	removed_at {int} NOT NULL
){strict};
CREATE INDEX bindings_by_issuer ON bindings (issuer, repository);

-- What a status was before an administrator changed it.
ALTER TABLE version_states ADD COLUMN previous TEXT NOT NULL DEFAULT '';

ALTER TABLE audit ADD COLUMN detail TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN leaf {int} NOT NULL DEFAULT -1;

CREATE INDEX experts_by_org ON experts (org_id);
CREATE INDEX tags_by_version ON tags (version_id);

-- Experts as lists show them. Each row follows from the versions, and is written with them.
CREATE TABLE listings (
	number {serial},
	expert_id TEXT NOT NULL UNIQUE REFERENCES experts (id),
	version_id TEXT NOT NULL REFERENCES versions (id),
	version_order TEXT NOT NULL,
	description TEXT NOT NULL,
	keywords TEXT NOT NULL,
	text TEXT NOT NULL
){strict};

CREATE TABLE reads (
	expert_id TEXT NOT NULL REFERENCES experts (id),
	day {int} NOT NULL,
	version_id TEXT NOT NULL REFERENCES versions (id),
	count {int} NOT NULL,
	PRIMARY KEY (expert_id, day, version_id)
){strict};

CREATE TABLE reports (
	id TEXT PRIMARY KEY,
	name TEXT NOT NULL,
	version TEXT NOT NULL,
	reason TEXT NOT NULL,
	contact TEXT NOT NULL,
	at {int} NOT NULL,
	closed_at {int} NOT NULL,
	outcome TEXT NOT NULL
){strict};
CREATE INDEX reports_by_time ON reports (closed_at, at);

-- only sqlite
CREATE VIRTUAL TABLE listings_index USING fts5 (text, content = 'listings', content_rowid = 'number', tokenize = 'trigram');
CREATE TRIGGER listings_added AFTER INSERT ON listings BEGIN INSERT INTO listings_index (rowid, text) VALUES (NEW.number, NEW.text); END;
CREATE TRIGGER listings_removed AFTER DELETE ON listings BEGIN INSERT INTO listings_index (listings_index, rowid, text) VALUES ('delete', OLD.number, OLD.text); END;
CREATE TRIGGER listings_changed AFTER UPDATE ON listings BEGIN
	INSERT INTO listings_index (listings_index, rowid, text) VALUES ('delete', OLD.number, OLD.text);
	INSERT INTO listings_index (rowid, text) VALUES (NEW.number, NEW.text);
END;

-- only postgres
ALTER TABLE experts ALTER COLUMN name TYPE TEXT COLLATE "C";
ALTER TABLE listings ALTER COLUMN version_order TYPE TEXT COLLATE "C";
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE INDEX listings_by_text ON listings USING gin (text gin_trgm_ops);
CREATE VIEW listings_index AS SELECT number AS rowid, text FROM listings;
