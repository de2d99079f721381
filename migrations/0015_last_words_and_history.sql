-- A schema that outlived a ledger which was dropped holds numbers of its requests: they would refuse every new answer.
CREATE SCHEMA IF NOT EXISTS "engine";
--> statement-breakpoint
DROP TABLE IF EXISTS "engine"."snapshots";
--> statement-breakpoint
CREATE TABLE "ledger"."coin_changes" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "ledger"."coin_changes_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"slip44" integer NOT NULL,
	"symbol" text NOT NULL,
	"contract_address" text NOT NULL,
	"name" text,
	"decimals" integer,
	"deposit_state" integer,
	"withdraw_state" integer,
	"is_listed" boolean NOT NULL,
	"observed_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "engine"."snapshots" (
	"name" text PRIMARY KEY NOT NULL,
	"observation" bigint NOT NULL
);
--> statement-breakpoint
ALTER TABLE "ledger"."transactions" ADD COLUMN "first_detail_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "ledger"."transactions" ADD COLUMN "first_detail_filled" text[];--> statement-breakpoint
-- A constant default rewrites no row: it says of the stored rows that nobody knows which answer brought which value.
ALTER TABLE "ledger"."transactions" ADD COLUMN "list_word" jsonb DEFAULT '"unknown"';--> statement-breakpoint
ALTER TABLE "ledger"."transactions" ALTER COLUMN "list_word" DROP DEFAULT;--> statement-breakpoint
ALTER TABLE "ledger"."transactions" ADD COLUMN "detail_word" jsonb DEFAULT '"unknown"';--> statement-breakpoint
ALTER TABLE "ledger"."transactions" ALTER COLUMN "detail_word" DROP DEFAULT;--> statement-breakpoint
ALTER TABLE "ledger"."transactions" ADD COLUMN "is_backfilled" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "ledger"."transactions" ALTER COLUMN "is_backfilled" SET DEFAULT false;--> statement-breakpoint
-- When a list was first read to its end is not known any more. Rows that came within a day of their time count as
-- having come in live. Only they are written anew: one scan of the table, and one new version of each of them.
UPDATE ledger.transactions SET is_backfilled = false
 WHERE (first_seen_at - occurred_at > interval '1 day') IS NOT TRUE;--> statement-breakpoint
CREATE INDEX "coin_changes_key" ON "ledger"."coin_changes" USING btree ("slip44","symbol","contract_address","observed_at");
--> statement-breakpoint
-- Earlier changes of coins were not kept: the history of each begins with what it is now.
INSERT INTO ledger.coin_changes (slip44, symbol, contract_address, name, decimals, deposit_state, withdraw_state,
                                 is_listed, observed_at)
SELECT slip44, symbol, contract_address, name, decimals, deposit_state, withdraw_state, is_listed, changed_at
  FROM ledger.coins ORDER BY slip44, symbol, contract_address;
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.pending_transactions AS
SELECT t.order_no, t.stream, t.request_id, t.symbol, t.tx_hash, t.from_address, t.to_address, t.amount, t.type, t.state,
       t.confirm_num, t.fee, t.fee_symbol, t.occurred_at, t.is_final, t.is_listed, t.detail_synced_at, t.next_check_at,
       t.first_seen_at, t.changed_at, t.observed_at, t.observation, t.extra,
       now() - coalesce(t.occurred_at, t.first_seen_at) AS age, t.is_backfilled
  FROM ledger.transactions t
 WHERE NOT t.is_final AND t.is_listed;
--> statement-breakpoint
-- Only a transaction that was there and has changed since had other values then, so only of those the changes are read.
-- A day more than changed_at says: the clocks of transactions that ran side by side do not follow one another. A
-- subquery that does not depend on the row lets several processes share the work.
-- What the first detail filled is not logged: a value that changed later was not there yet before first_detail_at.
CREATE OR REPLACE FUNCTION ledger.transactions_at(at timestamptz)
RETURNS TABLE (order_no text, stream text, request_id text, symbol text, tx_hash text, from_address text,
               to_address text, amount numeric, type text, state text, confirm_num integer, fee numeric,
               fee_symbol text, occurred_at timestamptz, is_final boolean, is_listed boolean,
               first_seen_at timestamptz, extra jsonb)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
SELECT t.order_no,
       CASE WHEN u.old ? 'stream' THEN u.old ->> 'stream' ELSE t.stream END,
       CASE WHEN u.old ? 'request_id' THEN u.old ->> 'request_id' WHEN 'request_id' = ANY (t.filled) THEN NULL ELSE t.request_id END,
       CASE WHEN u.old ? 'symbol' THEN u.old ->> 'symbol' WHEN 'symbol' = ANY (t.filled) THEN NULL ELSE t.symbol END,
       CASE WHEN u.old ? 'tx_hash' THEN u.old ->> 'tx_hash' WHEN 'tx_hash' = ANY (t.filled) THEN NULL ELSE t.tx_hash END,
       CASE WHEN u.old ? 'from_address' THEN u.old ->> 'from_address' WHEN 'from_address' = ANY (t.filled) THEN NULL ELSE t.from_address END,
       CASE WHEN u.old ? 'to_address' THEN u.old ->> 'to_address' WHEN 'to_address' = ANY (t.filled) THEN NULL ELSE t.to_address END,
       CASE WHEN u.old ? 'amount' THEN (u.old ->> 'amount')::numeric WHEN 'amount' = ANY (t.filled) THEN NULL ELSE t.amount END,
       CASE WHEN u.old ? 'type' THEN u.old ->> 'type' WHEN 'type' = ANY (t.filled) THEN NULL ELSE t.type END,
       CASE WHEN u.old ? 'state' THEN u.old ->> 'state' WHEN 'state' = ANY (t.filled) THEN NULL ELSE t.state END,
       CASE WHEN u.old ? 'confirm_num' THEN (u.old ->> 'confirm_num')::integer WHEN t.filled IS NOT NULL THEN NULL ELSE t.confirm_num END,
       CASE WHEN u.old ? 'fee' THEN (u.old ->> 'fee')::numeric WHEN t.filled IS NOT NULL THEN NULL ELSE t.fee END,
       CASE WHEN u.old ? 'fee_symbol' THEN u.old ->> 'fee_symbol' WHEN t.filled IS NOT NULL THEN NULL ELSE t.fee_symbol END,
       CASE WHEN u.old ? 'occurred_at' THEN (u.old ->> 'occurred_at')::timestamptz WHEN 'occurred_at' = ANY (t.filled) THEN NULL ELSE t.occurred_at END,
       CASE WHEN u.old ? 'state'
              THEN coalesce(lower(btrim(u.old ->> 'state')) IN (SELECT f.state FROM ledger.final_states f), false)
            WHEN 'state' = ANY (t.filled) THEN false ELSE t.is_final END,
       CASE WHEN u.old ? 'is_listed' THEN (u.old ->> 'is_listed')::boolean ELSE t.is_listed END,
       t.first_seen_at,
       CASE WHEN u.old ? 'extra' THEN (u.old ->> 'extra')::jsonb WHEN 'extra' = ANY (t.filled) THEN NULL ELSE t.extra END
  FROM (SELECT x.*, CASE WHEN x.first_detail_at > at THEN coalesce(x.first_detail_filled, '{}') END AS filled
          FROM ledger.transactions x) AS t
  LEFT JOIN (SELECT o.order_no, jsonb_object_agg(o.field, o.old_value) AS old
               FROM (SELECT DISTINCT ON (c.order_no, c.field) c.order_no, c.field,
                            CASE WHEN x.first_detail_at > at AND c.observed_at >= x.first_detail_at
                                  AND (c.field IN ('confirm_num', 'fee', 'fee_symbol')
                                       OR c.field = ANY (x.first_detail_filled))
                              THEN NULL ELSE c.old_value END AS old_value
                       FROM ledger.transactions x
                       JOIN ledger.transaction_changes c ON c.order_no = x.order_no
                      WHERE x.first_seen_at <= at AND x.changed_at > at - interval '1 day' AND c.observed_at > at
                      ORDER BY c.order_no, c.field, c.id) AS o
              GROUP BY o.order_no) AS u ON u.order_no = t.order_no
 WHERE t.first_seen_at <= at
$$;
--> statement-breakpoint
COMMENT ON SCHEMA engine IS 'What the program keeps for itself; the facts are in the schema ledger';
COMMENT ON TABLE engine.snapshots IS 'Which answer each table that one answer brings whole has taken last';
COMMENT ON COLUMN engine.snapshots.name IS 'balances or coins';
COMMENT ON COLUMN engine.snapshots.observation IS 'Highest request number among the answers that were taken, equal ones included; an answer with a lower number is left aside';
--> statement-breakpoint
COMMENT ON TABLE ledger.coin_changes IS 'One row per change of a coin, first sight included; never one per poll';
COMMENT ON COLUMN ledger.coin_changes.id IS 'Ever increasing';
COMMENT ON COLUMN ledger.coin_changes.slip44 IS 'slip44 code of the coin''s chain';
COMMENT ON COLUMN ledger.coin_changes.symbol IS 'Coin symbol code';
COMMENT ON COLUMN ledger.coin_changes.contract_address IS 'Contract address of a token; empty for a main-chain coin';
COMMENT ON COLUMN ledger.coin_changes.name IS 'Display name from this moment on';
COMMENT ON COLUMN ledger.coin_changes.decimals IS 'Number of decimals from this moment on';
COMMENT ON COLUMN ledger.coin_changes.deposit_state IS 'Deposit state from this moment on, as the service says (depositState)';
COMMENT ON COLUMN ledger.coin_changes.withdraw_state IS 'Withdrawal state from this moment on, as the service says (withdrawState)';
COMMENT ON COLUMN ledger.coin_changes.is_listed IS 'Whether the service listed the coin from this moment on';
COMMENT ON COLUMN ledger.coin_changes.observed_at IS 'When the ledger stored the change';
--> statement-breakpoint
COMMENT ON COLUMN ledger.transactions.is_backfilled IS 'Whether the row was in the history already when the list was first read. Of rows that an earlier version stored: whether it was seen more than a day after its time';
COMMENT ON COLUMN ledger.transactions.first_detail_at IS 'When the first detail was stored; null before that, and where an earlier version stored it';
COMMENT ON COLUMN ledger.transactions.first_detail_filled IS 'The program''s own: fields besides confirm_num, fee and fee_symbol that were empty until the first detail; null as a rule';
COMMENT ON COLUMN ledger.transactions.list_word IS 'The program''s own: what the service''s list last said of fields in which the row now holds something else; null as a rule, "unknown" for rows of an earlier version';
COMMENT ON COLUMN ledger.transactions.detail_word IS 'The program''s own: what the detail last said of fields in which the row now holds something else; null as a rule, "unknown" for rows of an earlier version';
COMMENT ON COLUMN ledger.pending_transactions.is_backfilled IS 'Whether the row was in the history already when the list was first read';
COMMENT ON COLUMN ledger.pending_transactions.is_listed IS 'Always true here';
COMMENT ON VIEW ledger.pending_transactions IS 'The listed transactions that are not final by WALLET_FINAL_STATES, with how long they have been on their way';
--> statement-breakpoint
COMMENT ON TABLE ledger.transaction_changes IS 'One row per field of a transaction that changed, being listed or not included. First sight, what the first detail fills and a rising confirm_num are no changes';
COMMENT ON COLUMN ledger.transaction_changes.old_value IS 'Value before, as text; null where the field was empty';
COMMENT ON COLUMN ledger.transaction_changes.new_value IS 'Value after, as text; null where the service has emptied the field';
COMMENT ON FUNCTION ledger.transactions_at IS 'The transactions as the ledger knew them then, the same whenever it is asked: rows first seen by then, each field with its value of that time, is_final by today''s settings. Rising confirmations are not logged: confirm_num may be a later one. Of what an earlier version stored, the filling of fields and being listed again are not known';
--> statement-breakpoint
CREATE INDEX "transactions_listed_at" ON "ledger"."transactions" USING btree ("stream") WHERE "ledger"."transactions"."list_word" ? 'occurred_at';
--> statement-breakpoint
-- Lists are ordered, and their days counted, by what the list says; the row holds the detail's time where they differ.
CREATE FUNCTION ledger.listed_at(occurred_at timestamptz, list_word jsonb) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN list_word ? 'occurred_at' THEN (list_word ->> 'occurred_at')::timestamptz ELSE occurred_at END
$$;
--> statement-breakpoint
COMMENT ON FUNCTION ledger.listed_at IS 'The time that the list says of a row, by which it orders its rows';
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.count_deleted() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE ledger.streams s
     SET ledger_count = s.ledger_count - d.listed, conflicts = s.conflicts - d.conflicts
    FROM (SELECT x.stream, count(*) FILTER (WHERE x.is_counted) AS listed, count(*) FILTER (WHERE x.is_conflict) AS conflicts
            FROM (SELECT o.stream, o.is_listed AS is_counted, o.also_listed_in IS NOT NULL AS is_conflict FROM old_rows o
                  UNION ALL
                  SELECT o.also_listed_in, false, true FROM old_rows o WHERE o.also_listed_in IS NOT NULL) AS x
           GROUP BY x.stream) AS d
   WHERE s.name = d.stream AND (d.listed > 0 OR d.conflicts > 0);
  UPDATE ledger.coverage c SET transactions = c.transactions - d.deleted, verified_at = NULL
    FROM (SELECT o.stream, (ledger.listed_at(o.occurred_at, o.list_word) AT TIME ZONE 'UTC')::date AS day, count(*) AS deleted
            FROM old_rows o WHERE o.is_listed GROUP BY 1, 2) AS d
   WHERE c.stream = d.stream AND c.day = d.day;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.count_moved() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO ledger.streams AS s (name, ledger_count, conflicts)
  SELECT d.name, sum(d.listed), sum(d.conflict)
    FROM (VALUES (OLD.stream, - OLD.is_listed::integer, - (OLD.also_listed_in IS NOT NULL)::integer),
                 (NEW.stream, NEW.is_listed::integer, (NEW.also_listed_in IS NOT NULL)::integer),
                 (OLD.also_listed_in, 0, -1),
                 (NEW.also_listed_in, 0, 1)) AS d (name, listed, conflict)
   WHERE d.name IS NOT NULL
   GROUP BY d.name HAVING sum(d.listed) <> 0 OR sum(d.conflict) <> 0
   ORDER BY d.name
  ON CONFLICT (name) DO UPDATE
    SET ledger_count = s.ledger_count + excluded.ledger_count, conflicts = s.conflicts + excluded.conflicts;
  INSERT INTO ledger.coverage AS c (stream, day, transactions)
  SELECT d.stream, (d.at AT TIME ZONE 'UTC')::date, sum(d.listed)
    FROM (VALUES (OLD.stream, ledger.listed_at(OLD.occurred_at, OLD.list_word), - OLD.is_listed::integer),
                 (NEW.stream, ledger.listed_at(NEW.occurred_at, NEW.list_word), NEW.is_listed::integer)) AS d (stream, at, listed)
   WHERE d.at IS NOT NULL
   GROUP BY 1, 2 HAVING sum(d.listed) <> 0
   ORDER BY 1, 2
  ON CONFLICT (stream, day) DO UPDATE SET transactions = c.transactions + excluded.transactions, verified_at = NULL;
  RETURN NULL;
END $$;
--> statement-breakpoint
DROP TRIGGER transactions_moved ON ledger.transactions;
--> statement-breakpoint
CREATE TRIGGER transactions_moved AFTER UPDATE ON ledger.transactions
  FOR EACH ROW WHEN (OLD.is_listed <> NEW.is_listed OR OLD.stream <> NEW.stream
                  OR OLD.occurred_at IS DISTINCT FROM NEW.occurred_at
                  OR OLD.list_word IS DISTINCT FROM NEW.list_word
                  OR OLD.also_listed_in IS DISTINCT FROM NEW.also_listed_in)
  EXECUTE FUNCTION ledger.count_moved();
