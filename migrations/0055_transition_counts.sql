CREATE TABLE "engine"."transition_counts" (
	"wallet" text DEFAULT engine.wallet() NOT NULL,
	"counter" integer NOT NULL,
	"key" uuid NOT NULL,
	"type" text,
	"from_state" text,
	"to_state" text,
	"transactions" bigint NOT NULL,
	"first_seen_at" timestamp with time zone NOT NULL,
	"last_seen_at" timestamp with time zone NOT NULL,
	CONSTRAINT "transition_counts_wallet_counter_key_pk" PRIMARY KEY("wallet","counter","key")
);
--> statement-breakpoint
COMMENT ON TABLE engine.transition_counts IS 'Numbers of logged changes of states, kept by triggers of ledger.transaction_changes; ledger.state_transitions adds them up';
COMMENT ON COLUMN engine.transition_counts.wallet IS 'Wallet of the transactions';
COMMENT ON COLUMN engine.transition_counts.counter IS 'Transactions that commit at the same time have different counters, so that none waits for another';
COMMENT ON COLUMN engine.transition_counts.key IS 'Hash of type, from_state and to_state, which may be too long for an index';
COMMENT ON COLUMN engine.transition_counts.type IS 'deposit or withdraw, as the service said (type) when the change was logged';
COMMENT ON COLUMN engine.transition_counts.from_state IS 'As in ledger.state_transitions';
COMMENT ON COLUMN engine.transition_counts.to_state IS 'As in ledger.state_transitions';
COMMENT ON COLUMN engine.transition_counts.transactions IS 'Number of changes that this counter counted';
COMMENT ON COLUMN engine.transition_counts.first_seen_at IS 'The earliest of them';
COMMENT ON COLUMN engine.transition_counts.last_seen_at IS 'The latest of them';
--> statement-breakpoint
CREATE FUNCTION engine.own_counter() RETURNS integer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  counter integer := 0;
BEGIN
  -- A transaction has its counter until it has ended, so nobody else writes these rows.
  WHILE NOT pg_try_advisory_xact_lock(7246013, counter) LOOP counter := counter + 1; END LOOP;
  RETURN counter;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.own_counter IS 'The smallest number that no other open transaction has, see engine.transition_counts';
--> statement-breakpoint
CREATE FUNCTION engine.note_transitions() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM new_rows n WHERE n.field = 'state') THEN RETURN NULL; END IF;
  INSERT INTO engine.transition_counts AS c
    (wallet, counter, key, type, from_state, to_state, transactions, first_seen_at, last_seen_at)
  SELECT g.wallet, engine.own_counter(), engine.sum_key(g.type, g.old_value, g.new_value), g.type, g.old_value, g.new_value,
         count(*), min(g.observed_at), max(g.observed_at)
    FROM (SELECT n.wallet, n.old_value, n.new_value, n.observed_at,
                 (SELECT t.type FROM ledger.transactions t WHERE t.wallet = n.wallet AND t.order_no = n.order_no) AS type
            FROM new_rows n WHERE n.field = 'state') AS g
   GROUP BY g.wallet, g.type, g.old_value, g.new_value
  ON CONFLICT (wallet, counter, key) DO UPDATE
     SET transactions = c.transactions + excluded.transactions,
         first_seen_at = least(c.first_seen_at, excluded.first_seen_at),
         last_seen_at = greatest(c.last_seen_at, excluded.last_seen_at);
  RETURN NULL;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.note_transitions IS 'Counts the changes of states that a statement logged';
--> statement-breakpoint
CREATE FUNCTION engine.recount_transitions() RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  -- Whoever has counted commits first, whoever has not counts afterwards.
  LOCK TABLE engine.transition_counts IN EXCLUSIVE MODE;
  DELETE FROM engine.transition_counts;
  INSERT INTO engine.transition_counts (wallet, counter, key, type, from_state, to_state, transactions, first_seen_at, last_seen_at)
  SELECT c.wallet, 0, engine.sum_key(t.type, c.old_value, c.new_value), t.type, c.old_value, c.new_value,
         count(*), min(c.observed_at), max(c.observed_at)
    FROM ledger.transaction_changes c
    LEFT JOIN ledger.transactions t ON t.wallet = c.wallet AND t.order_no = c.order_no
   WHERE c.field = 'state'
   GROUP BY c.wallet, t.type, c.old_value, c.new_value;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.recount_transitions IS 'Counts all logged changes of states anew';
--> statement-breakpoint
CREATE FUNCTION engine.note_changed_log() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  PERFORM engine.recount_transitions();
  RETURN NULL;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.note_changed_log IS 'Counts anew after logged changes were deleted or altered, which only people do';
--> statement-breakpoint
CREATE TRIGGER transaction_changes_counted AFTER INSERT ON ledger.transaction_changes
  REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION engine.note_transitions();
CREATE TRIGGER transaction_changes_altered AFTER UPDATE OR DELETE OR TRUNCATE ON ledger.transaction_changes
  FOR EACH STATEMENT EXECUTE FUNCTION engine.note_changed_log();
--> statement-breakpoint
SELECT engine.recount_transitions();
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.state_transitions AS
SELECT seen.*
  FROM (SELECT c.type, c.from_state, c.to_state, sum(c.transactions)::bigint AS transactions,
               min(c.first_seen_at) AS first_seen_at, max(c.last_seen_at) AS last_seen_at,
               EXISTS (SELECT FROM ledger.final_states f WHERE f.wallet = c.wallet AND f.state = lower(btrim(c.from_state)))
                 AS is_final_setting,
               c.wallet
          FROM engine.transition_counts c
         GROUP BY c.wallet, c.type, c.from_state, c.to_state) AS seen
 WHERE (SELECT engine.seen_wallets(current_user)) IS NULL
    OR seen.wallet = ANY ((SELECT engine.seen_wallets(current_user))::text[]);
--> statement-breakpoint
COMMENT ON COLUMN ledger.state_transitions.type IS 'deposit or withdraw, as the service said (type) when the change was seen';
COMMENT ON FUNCTION ledger.count_state_transitions IS 'The rows of the view state_transitions, counted anew from all logged changes';
--> statement-breakpoint
DROP FUNCTION engine.state_transitions_of(text);
--> statement-breakpoint
SELECT engine.make_own_views();
--> statement-breakpoint
SELECT engine.settle_rights();
