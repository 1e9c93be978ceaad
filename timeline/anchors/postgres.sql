-- Timeline: a database as external anchor. PostgreSQL 14 or newer.
--
-- Run it as an administrator of the database, never as the role that the timeline uses: what this schema is worth is
-- that the role below can move a checkpoint forward and do nothing else. It may be run again, for another role too.

BEGIN;

CREATE SCHEMA IF NOT EXISTS timeline_anchor;

-- One row for each log. `checkpoint` is the log's own signed note; a client verifies it at every question.
CREATE TABLE IF NOT EXISTS timeline_anchor.anchor (
    origin text COLLATE "C" PRIMARY KEY CHECK (octet_length(origin) BETWEEN 1 AND 512),
    size bigint NOT NULL CHECK (size >= 0),
    root bytea NOT NULL CHECK (octet_length(root) = 32),
    checkpoint bytea NOT NULL CHECK (octet_length(checkpoint) BETWEEN 1 AND 65536)
);

-- Holds for everybody, the owner of the table and a superuser included, until somebody disables it.
CREATE OR REPLACE FUNCTION timeline_anchor.anchor_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF NEW.origin = OLD.origin
            AND (NEW.size > OLD.size OR (NEW.size = OLD.size AND NEW.root = OLD.root))
        THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'timeline: a checkpoint is not moved backwards, replaced or removed'
        USING ERRCODE = 'integrity_constraint_violation';
END
$$;

CREATE OR REPLACE TRIGGER anchor_guard_row BEFORE UPDATE OR DELETE ON timeline_anchor.anchor
    FOR EACH ROW EXECUTE FUNCTION timeline_anchor.anchor_guard();
CREATE OR REPLACE TRIGGER anchor_guard_table BEFORE TRUNCATE ON timeline_anchor.anchor
    FOR EACH STATEMENT EXECUTE FUNCTION timeline_anchor.anchor_guard();
-- ALWAYS: also where a session calls itself a replica.
ALTER TABLE timeline_anchor.anchor ENABLE ALWAYS TRIGGER anchor_guard_row;
ALTER TABLE timeline_anchor.anchor ENABLE ALWAYS TRIGGER anchor_guard_table;

-- Compare-and-set: true where the row stood at `old_size` (NULL: where there was none) and has been moved.
CREATE OR REPLACE FUNCTION timeline_anchor.anchor_advance(
    log_origin text, old_size bigint, new_size bigint, new_root bytea, new_checkpoint bytea
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF old_size IS NULL THEN
        INSERT INTO timeline_anchor.anchor (origin, size, root, checkpoint)
        VALUES (log_origin, new_size, new_root, new_checkpoint)
        ON CONFLICT (origin) DO NOTHING;
    ELSE
        UPDATE timeline_anchor.anchor AS held
        SET size = new_size, root = new_root, checkpoint = new_checkpoint
        WHERE held.origin = log_origin AND held.size = old_size;
    END IF;
    RETURN FOUND;
END
$$;

REVOKE ALL ON SCHEMA timeline_anchor FROM PUBLIC;
REVOKE ALL ON timeline_anchor.anchor FROM PUBLIC;
REVOKE ALL ON FUNCTION timeline_anchor.anchor_guard() FROM PUBLIC;
REVOKE ALL ON FUNCTION timeline_anchor.anchor_advance(text, bigint, bigint, bytea, bytea) FROM PUBLIC;

-- How the role logs in (a socket's peer, a certificate, a password) is the server's own business: pg_hba.conf.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'timeline_client') THEN
        CREATE ROLE timeline_client LOGIN;
    END IF;
END
$$;
REVOKE ALL ON timeline_anchor.anchor FROM timeline_client;
GRANT USAGE ON SCHEMA timeline_anchor TO timeline_client;
GRANT SELECT ON timeline_anchor.anchor TO timeline_client;
GRANT EXECUTE ON FUNCTION timeline_anchor.anchor_advance(text, bigint, bigint, bytea, bytea) TO timeline_client;

COMMIT;
