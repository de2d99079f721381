-- A business may keep several wallets in one ledger. The wallet is the first part of every key.
CREATE FUNCTION engine.wallet() RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN coalesce(nullif(current_setting('ledger.wallet', true), ''), 'main');
--> statement-breakpoint
COMMENT ON FUNCTION engine.wallet IS 'Wallet of this session, from its setting ledger.wallet; main if that is not set';
--> statement-breakpoint
-- A constant default is stored once for all rows, so that no row is rewritten.
ALTER TABLE ledger.address_conflicts ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE ledger.address_requests ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE ledger.addresses ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE engine.merged_addresses ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE ledger.balance_changes ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE ledger.balances ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE ledger.closed_books ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE ledger.closed_months ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE ledger.late_entries ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE ledger.coin_changes ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE ledger.coins ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE engine.detail_checks ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE ledger.events ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE engine.outbox ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE engine.raised_problems ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE engine.hint_turns ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE engine.hints ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE engine.lease_wishes ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE engine.null_takes ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE ledger.pools ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE ledger.reconciliation_runs ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE ledger.rejects ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE ledger.request_tickets ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE engine.ticket_witness ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE engine.snapshots ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE ledger.coverage ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE ledger.scan_notes ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE ledger.stream_proofs ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE ledger.streams ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE ledger.sync_runs ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE engine.all_sums ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE engine.daily_sums ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE engine.total_changes ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE engine.classification ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE ledger.final_states ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE ledger.transaction_changes ADD COLUMN wallet text NOT NULL DEFAULT 'main';
ALTER TABLE ledger.transactions ADD COLUMN wallet text NOT NULL DEFAULT 'main';
--> statement-breakpoint
ALTER TABLE ledger.address_conflicts ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE ledger.address_requests ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE ledger.addresses ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE engine.merged_addresses ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE ledger.balance_changes ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE ledger.balances ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE ledger.closed_books ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE ledger.closed_months ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE ledger.late_entries ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE ledger.coin_changes ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE ledger.coins ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE engine.detail_checks ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE ledger.events ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE engine.outbox ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE engine.raised_problems ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE engine.hint_turns ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE engine.hints ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE engine.lease_wishes ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE engine.null_takes ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE ledger.pools ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE ledger.reconciliation_runs ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE ledger.rejects ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE ledger.request_tickets ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE engine.ticket_witness ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE engine.snapshots ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE ledger.coverage ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE ledger.scan_notes ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE ledger.stream_proofs ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE ledger.streams ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE ledger.sync_runs ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE engine.all_sums ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE engine.daily_sums ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE engine.total_changes ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE engine.classification ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE ledger.final_states ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE ledger.transaction_changes ALTER COLUMN wallet SET DEFAULT engine.wallet();
ALTER TABLE ledger.transactions ALTER COLUMN wallet SET DEFAULT engine.wallet();
--> statement-breakpoint
DROP INDEX ledger.address_requests_open;
DROP INDEX ledger.addresses_address_key;
DROP INDEX ledger.addresses_first_deposit;
DROP INDEX ledger.addresses_available;
DROP INDEX ledger.addresses_assigned_at;
DROP INDEX ledger.addresses_assigned_to;
DROP INDEX ledger.addresses_strange;
DROP INDEX ledger.balance_changes_key;
DROP INDEX ledger.late_entries_month;
DROP INDEX ledger.coin_changes_key;
DROP INDEX engine.detail_checks_turn;
DROP INDEX engine.null_takes_taken_at;
DROP INDEX ledger.reconciliation_runs_latest;
DROP INDEX ledger.rejects_open;
DROP INDEX ledger.stream_proofs_name;
DROP INDEX ledger.sync_runs_job;
DROP INDEX ledger.sync_runs_succeeded;
DROP INDEX engine.daily_sums_day;
DROP INDEX ledger.transaction_changes_order_no;
DROP INDEX ledger.transactions_stream_occurred_at;
DROP INDEX ledger.transactions_open;
DROP INDEX ledger.transactions_unlisted;
DROP INDEX ledger.transactions_undated;
DROP INDEX ledger.transactions_listed_at;
DROP INDEX ledger.transactions_without_detail;
DROP INDEX ledger.transactions_deposit_address;
ALTER TABLE ledger.rejects DROP CONSTRAINT rejects_fingerprint_unique;
--> statement-breakpoint
DO $keys$
DECLARE
  k record;
BEGIN
  FOR k IN
    SELECT c.conrelid::regclass AS relation, c.conname AS name
      FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attname = 'wallet'
     WHERE c.contype = 'p' AND c.connamespace IN ('ledger'::regnamespace, 'engine'::regnamespace)
       AND c.conrelid NOT IN ('ledger.wallets'::regclass, 'ledger.events'::regclass,
                              'engine.all_sums'::regclass, 'engine.daily_sums'::regclass, 'engine.outbox'::regclass)
  LOOP
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', k.relation, k.name);
  END LOOP;
END $keys$;
--> statement-breakpoint
ALTER TABLE ledger.address_conflicts ADD CONSTRAINT address_conflicts_wallet_address_key_slip44_address_pk PRIMARY KEY(wallet,address_key,slip44,address);
ALTER TABLE ledger.address_requests ADD CONSTRAINT address_requests_wallet_id_pk PRIMARY KEY(wallet,id);
ALTER TABLE ledger.addresses ADD CONSTRAINT addresses_wallet_slip44_address_key_pk PRIMARY KEY(wallet,slip44,address_key);
ALTER TABLE engine.merged_addresses ADD CONSTRAINT merged_addresses_wallet_slip44_address_pk PRIMARY KEY(wallet,slip44,address);
ALTER TABLE ledger.balance_changes ADD CONSTRAINT balance_changes_wallet_id_pk PRIMARY KEY(wallet,id);
ALTER TABLE ledger.balances ADD CONSTRAINT balances_wallet_slip44_symbol_contract_address_pk PRIMARY KEY(wallet,slip44,symbol,contract_address);
ALTER TABLE ledger.closed_books ADD CONSTRAINT closed_books_wallet_month_part_no_pk PRIMARY KEY(wallet,month,part,no);
ALTER TABLE ledger.closed_months ADD CONSTRAINT closed_months_wallet_month_pk PRIMARY KEY(wallet,month);
ALTER TABLE ledger.late_entries ADD CONSTRAINT late_entries_wallet_id_pk PRIMARY KEY(wallet,id);
ALTER TABLE ledger.coin_changes ADD CONSTRAINT coin_changes_wallet_id_pk PRIMARY KEY(wallet,id);
ALTER TABLE ledger.coins ADD CONSTRAINT coins_wallet_slip44_symbol_contract_address_pk PRIMARY KEY(wallet,slip44,symbol,contract_address);
ALTER TABLE engine.detail_checks ADD CONSTRAINT detail_checks_wallet_order_no_pk PRIMARY KEY(wallet,order_no);
ALTER TABLE engine.raised_problems ADD CONSTRAINT raised_problems_wallet_name_severity_pk PRIMARY KEY(wallet,name,severity);
ALTER TABLE engine.hint_turns ADD CONSTRAINT hint_turns_wallet_subject_pk PRIMARY KEY(wallet,subject);
ALTER TABLE engine.hints ADD CONSTRAINT hints_wallet_id_pk PRIMARY KEY(wallet,id);
ALTER TABLE engine.lease_wishes ADD CONSTRAINT lease_wishes_wallet_stream_pk PRIMARY KEY(wallet,stream);
ALTER TABLE ledger.pools ADD CONSTRAINT pools_wallet_slip44_pk PRIMARY KEY(wallet,slip44);
ALTER TABLE ledger.reconciliation_runs ADD CONSTRAINT reconciliation_runs_wallet_id_pk PRIMARY KEY(wallet,id);
ALTER TABLE ledger.rejects ADD CONSTRAINT rejects_wallet_id_pk PRIMARY KEY(wallet,id);
ALTER TABLE ledger.request_tickets ADD CONSTRAINT request_tickets_wallet_id_pk PRIMARY KEY(wallet,id);
ALTER TABLE engine.snapshots ADD CONSTRAINT snapshots_wallet_name_pk PRIMARY KEY(wallet,name);
ALTER TABLE ledger.coverage ADD CONSTRAINT coverage_wallet_stream_day_pk PRIMARY KEY(wallet,stream,day);
ALTER TABLE ledger.scan_notes ADD CONSTRAINT scan_notes_wallet_stream_key_pk PRIMARY KEY(wallet,stream,key);
ALTER TABLE ledger.stream_proofs ADD CONSTRAINT stream_proofs_wallet_id_pk PRIMARY KEY(wallet,id);
ALTER TABLE ledger.streams ADD CONSTRAINT streams_wallet_name_pk PRIMARY KEY(wallet,name);
ALTER TABLE ledger.sync_runs ADD CONSTRAINT sync_runs_wallet_id_pk PRIMARY KEY(wallet,id);
ALTER TABLE engine.classification ADD CONSTRAINT classification_wallet_id_pk PRIMARY KEY(wallet,id);
ALTER TABLE ledger.final_states ADD CONSTRAINT final_states_wallet_state_pk PRIMARY KEY(wallet,state);
ALTER TABLE ledger.transaction_changes ADD CONSTRAINT transaction_changes_wallet_id_pk PRIMARY KEY(wallet,id);
ALTER TABLE ledger.transactions ADD CONSTRAINT transactions_wallet_order_no_pk PRIMARY KEY(wallet,order_no);
ALTER TABLE ledger.rejects ADD CONSTRAINT rejects_fingerprint UNIQUE(wallet,fingerprint);
--> statement-breakpoint
-- The wallet comes last where the other column alone finds few rows: a query of a person may name no wallet.
CREATE UNIQUE INDEX address_requests_open ON ledger.address_requests USING btree (wallet,slip44) WHERE ledger.address_requests.state in ('sent', 'unknown');
CREATE INDEX addresses_address_key ON ledger.addresses USING btree (address_key,wallet);
CREATE INDEX addresses_first_deposit ON ledger.addresses USING btree (first_deposit_order_no,wallet) WHERE ledger.addresses.first_deposit_order_no is not null;
CREATE INDEX addresses_available ON ledger.addresses USING btree (wallet,slip44,first_seen_at,address) WHERE ledger.addresses.status = 'available';
CREATE INDEX addresses_assigned_at ON ledger.addresses USING btree (wallet,slip44,assigned_at) WHERE ledger.addresses.assigned_at is not null;
CREATE UNIQUE INDEX addresses_assigned_to ON ledger.addresses USING btree (wallet,slip44,assigned_to,assigned_no) WHERE ledger.addresses.assigned_to is not null;
CREATE INDEX addresses_strange ON ledger.addresses USING btree (wallet,slip44) WHERE ledger.addresses.form = 'strange';
CREATE INDEX balance_changes_key ON ledger.balance_changes USING btree (wallet,slip44,symbol,contract_address,observed_at);
CREATE INDEX late_entries_month ON ledger.late_entries USING btree (wallet,month);
CREATE INDEX coin_changes_key ON ledger.coin_changes USING btree (wallet,slip44,symbol,contract_address,observed_at);
CREATE INDEX detail_checks_turn ON engine.detail_checks USING btree (wallet,turn,due_at);
CREATE INDEX null_takes_taken_at ON engine.null_takes USING btree (wallet,slip44,taken_at);
CREATE INDEX reconciliation_runs_latest ON ledger.reconciliation_runs USING btree (wallet,symbol,coalesce(slip44, -1),coalesce(contract_address, ''),id DESC NULLS FIRST);
CREATE INDEX rejects_open ON ledger.rejects USING btree (order_no,wallet) WHERE ledger.rejects.resolved_at is null;
CREATE INDEX stream_proofs_name ON ledger.stream_proofs USING btree (wallet,name,id);
CREATE INDEX sync_runs_job ON ledger.sync_runs USING btree (wallet,job,id);
CREATE INDEX sync_runs_succeeded ON ledger.sync_runs USING btree (wallet,job,id) WHERE ledger.sync_runs.outcome in ('done', 'incomplete');
CREATE INDEX daily_sums_day ON engine.daily_sums USING btree (wallet,day);
CREATE INDEX transaction_changes_order_no ON ledger.transaction_changes USING btree (order_no,wallet);
CREATE INDEX transactions_stream_occurred_at ON ledger.transactions USING btree (wallet,stream,occurred_at);
CREATE INDEX transactions_open ON ledger.transactions USING btree (wallet,occurred_at) WHERE not ledger.transactions.is_final;
CREATE INDEX transactions_unlisted ON ledger.transactions USING btree (wallet,stream,occurred_at) WHERE not ledger.transactions.is_listed;
CREATE INDEX transactions_undated ON ledger.transactions USING btree (wallet,stream) WHERE ledger.transactions.occurred_at is null;
CREATE INDEX transactions_listed_at ON ledger.transactions USING btree (wallet,stream) WHERE ledger.transactions.list_word ? 'occurred_at';
CREATE INDEX transactions_without_detail ON ledger.transactions USING btree (wallet,occurred_at) WHERE ledger.transactions.is_final and ledger.transactions.is_backfilled and ledger.transactions.is_listed and ledger.transactions.detail_synced_at is null;
CREATE INDEX transactions_deposit_address ON ledger.transactions USING btree (ledger.address_key(to_address),wallet) WHERE ledger.transactions.stream = 'deposit';
--> statement-breakpoint
COMMENT ON COLUMN ledger.address_conflicts.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.address_requests.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.addresses.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN engine.merged_addresses.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.balance_changes.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.balances.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.closed_books.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.closed_months.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.late_entries.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.coin_changes.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.coins.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN engine.detail_checks.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.events.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN engine.outbox.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN engine.raised_problems.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN engine.hint_turns.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN engine.hints.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN engine.lease_wishes.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN engine.null_takes.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.pools.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.reconciliation_runs.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.rejects.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.request_tickets.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN engine.ticket_witness.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN engine.snapshots.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.coverage.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.scan_notes.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.stream_proofs.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.streams.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.sync_runs.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN engine.all_sums.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN engine.daily_sums.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN engine.total_changes.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN engine.classification.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.final_states.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.transaction_changes.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
COMMENT ON COLUMN ledger.transactions.wallet IS 'Wallet that the row belongs to, one of WALLETS; main where only one is set';
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.count_inserted() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  INSERT INTO ledger.streams AS s (wallet, name, ledger_count)
  SELECT n.wallet, n.stream, count(*) FROM new_rows n WHERE n.is_listed GROUP BY 1, 2 ORDER BY 1, 2
  ON CONFLICT (wallet, name) DO UPDATE SET ledger_count = s.ledger_count + excluded.ledger_count;
  INSERT INTO ledger.coverage AS c (wallet, stream, day, transactions)
  SELECT n.wallet, n.stream, (n.occurred_at AT TIME ZONE 'UTC')::date, count(*)
    FROM new_rows n WHERE n.is_listed AND n.occurred_at IS NOT NULL
   GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
  ON CONFLICT (wallet, stream, day) DO UPDATE SET transactions = c.transactions + excluded.transactions;
  UPDATE ledger.coverage c SET verified_at = NULL
    FROM new_rows n
   WHERE n.observation = 0 AND n.is_listed AND c.verified_at IS NOT NULL
     AND c.wallet = n.wallet AND c.stream = n.stream AND c.day = (n.occurred_at AT TIME ZONE 'UTC')::date;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.count_deleted() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  UPDATE ledger.streams s
     SET ledger_count = s.ledger_count - d.listed, conflicts = s.conflicts - d.conflicts
    FROM (SELECT x.wallet, x.stream, count(*) FILTER (WHERE x.is_counted) AS listed,
                 count(*) FILTER (WHERE x.is_conflict) AS conflicts
            FROM (SELECT o.wallet, o.stream, o.is_listed AS is_counted, o.also_listed_in IS NOT NULL AS is_conflict
                    FROM old_rows o
                  UNION ALL
                  SELECT o.wallet, o.also_listed_in, false, true FROM old_rows o WHERE o.also_listed_in IS NOT NULL) AS x
           GROUP BY x.wallet, x.stream) AS d
   WHERE s.wallet = d.wallet AND s.name = d.stream AND (d.listed > 0 OR d.conflicts > 0);
  UPDATE ledger.coverage c SET transactions = c.transactions - d.deleted, verified_at = NULL
    FROM (SELECT o.wallet, o.stream, (ledger.listed_at(o.occurred_at, o.list_word) AT TIME ZONE 'UTC')::date AS day,
                 count(*) AS deleted
            FROM old_rows o WHERE o.is_listed GROUP BY 1, 2, 3) AS d
   WHERE c.wallet = d.wallet AND c.stream = d.stream AND c.day = d.day;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- Two rows, because a row may also move from one wallet to another.
CREATE OR REPLACE FUNCTION ledger.count_moved() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  INSERT INTO ledger.streams AS s (wallet, name, ledger_count, conflicts)
  SELECT d.wallet, d.name, sum(d.listed), sum(d.conflict)
    FROM (VALUES (OLD.wallet, OLD.stream, - OLD.is_listed::integer, - (OLD.also_listed_in IS NOT NULL)::integer),
                 (NEW.wallet, NEW.stream, NEW.is_listed::integer, (NEW.also_listed_in IS NOT NULL)::integer),
                 (OLD.wallet, OLD.also_listed_in, 0, -1),
                 (NEW.wallet, NEW.also_listed_in, 0, 1)) AS d (wallet, name, listed, conflict)
   WHERE d.name IS NOT NULL
   GROUP BY d.wallet, d.name HAVING sum(d.listed) <> 0 OR sum(d.conflict) <> 0
   ORDER BY d.wallet, d.name
  ON CONFLICT (wallet, name) DO UPDATE
    SET ledger_count = s.ledger_count + excluded.ledger_count, conflicts = s.conflicts + excluded.conflicts;
  INSERT INTO ledger.coverage AS c (wallet, stream, day, transactions)
  SELECT d.wallet, d.stream, (d.at AT TIME ZONE 'UTC')::date, sum(d.listed)
    FROM (VALUES (OLD.wallet, OLD.stream, ledger.listed_at(OLD.occurred_at, OLD.list_word), - OLD.is_listed::integer),
                 (NEW.wallet, NEW.stream, ledger.listed_at(NEW.occurred_at, NEW.list_word), NEW.is_listed::integer))
           AS d (wallet, stream, at, listed)
   WHERE d.at IS NOT NULL
   GROUP BY 1, 2, 3 HAVING sum(d.listed) <> 0
   ORDER BY 1, 2, 3
  ON CONFLICT (wallet, stream, day) DO UPDATE
    SET transactions = c.transactions + excluded.transactions, verified_at = NULL;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- The key of a sum is a hash of what its rows have in common: the wallet too.
UPDATE engine.daily_sums s
   SET key = engine.sum_key(s.wallet, extract(epoch FROM s.day)::text, s.stream, s.symbol, s.state, s.is_success::text,
                            s.fee_symbol, s.lacks_detail::text);
--> statement-breakpoint
UPDATE engine.all_sums s
   SET key = engine.sum_key(s.wallet, s.stream, s.symbol, s.state, s.is_success::text, s.fee_symbol, s.lacks_detail::text);
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.fold_totals()
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
DECLARE
  emptied uuid[];
  lost uuid[];
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' OR NOT pg_try_advisory_xact_lock(7246007) THEN
    RETURN;
  END IF;
  WITH taken AS (DELETE FROM engine.total_changes RETURNING *),
  grouped AS MATERIALIZED (
    SELECT engine.sum_key(t.wallet, extract(epoch FROM t.day)::text, t.stream, t.symbol, t.state, t.is_success::text, t.fee_symbol,
                           t.lacks_detail::text) AS key, t.wallet, t.day,
           t.stream, t.symbol, t.state, t.is_success, t.fee_symbol, t.lacks_detail, sum(t.transactions) AS transactions,
           sum(t.amounts) AS amounts, sum(t.amount) AS amount, sum(t.fees) AS fees, sum(t.fee) AS fee,
           max(t.largest_fee) AS largest_fee, max(t.lost_fee) AS lost_fee
      FROM taken t GROUP BY t.wallet, t.day, t.stream, t.symbol, t.state, t.is_success, t.fee_symbol, t.lacks_detail
  ),
  daily AS (
    INSERT INTO engine.daily_sums AS s (wallet, key, day, stream, symbol, state, is_success, fee_symbol, lacks_detail, transactions,
                                        amounts, amount, fees, fee, largest_fee)
    SELECT g.wallet, g.key, g.day, g.stream, g.symbol, g.state, g.is_success, g.fee_symbol, g.lacks_detail, g.transactions,
           g.amounts, g.amount, g.fees, g.fee, g.largest_fee
      FROM grouped g
    ON CONFLICT (key) DO UPDATE
      SET transactions = s.transactions + excluded.transactions, amounts = s.amounts + excluded.amounts,
          amount = s.amount + excluded.amount, fees = s.fees + excluded.fees, fee = s.fee + excluded.fee,
          largest_fee = greatest(s.largest_fee, excluded.largest_fee)
    RETURNING s.key, s.transactions, s.largest_fee
  ),
  overall AS (
    INSERT INTO engine.all_sums AS s (wallet, key, stream, symbol, state, is_success, fee_symbol, lacks_detail, transactions, amounts,
                                      amount, fees, fee, largest_fee)
    SELECT g.wallet, engine.sum_key(g.wallet, g.stream, g.symbol, g.state, g.is_success::text, g.fee_symbol, g.lacks_detail::text), g.stream, g.symbol, g.state,
           g.is_success, g.fee_symbol, g.lacks_detail, sum(g.transactions), sum(g.amounts), sum(g.amount), sum(g.fees), sum(g.fee),
           max(g.largest_fee)
      FROM grouped g GROUP BY g.wallet, g.stream, g.symbol, g.state, g.is_success, g.fee_symbol, g.lacks_detail
    ON CONFLICT (key) DO UPDATE
      SET transactions = s.transactions + excluded.transactions, amounts = s.amounts + excluded.amounts,
          amount = s.amount + excluded.amount, fees = s.fees + excluded.fees, fee = s.fee + excluded.fee,
          largest_fee = greatest(s.largest_fee, excluded.largest_fee)
    RETURNING s.key, s.transactions
  )
  SELECT array_agg(d.key) FILTER (WHERE d.transactions = 0)
           || (SELECT array_agg(o.key) FILTER (WHERE o.transactions = 0) FROM overall o),
         array_agg(d.key) FILTER (WHERE d.transactions <> 0 AND g.lost_fee >= d.largest_fee)
    INTO emptied, lost
    FROM daily d JOIN grouped g ON g.key = d.key;
  IF emptied IS NOT NULL THEN
    DELETE FROM engine.daily_sums s WHERE s.key = ANY (emptied);
    DELETE FROM engine.all_sums s WHERE s.key = ANY (emptied);
  END IF;
  IF lost IS NOT NULL THEN
    PERFORM engine.find_largest_fees(lost);
  END IF;
END $function$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.note_inserted_totals()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
DECLARE
  first_id bigint;
  last_id bigint;
BEGIN
  WITH added AS (
    INSERT INTO engine.total_changes
      (wallet, day, stream, symbol, state, is_success, fee_symbol, lacks_detail, transactions, amounts, amount, fees, fee, largest_fee)
    SELECT n.wallet, (n.occurred_at AT TIME ZONE 'UTC')::date, n.stream, n.symbol, n.state, n.is_success, n.fee_symbol,
           n.detail_synced_at IS NULL, count(*), count(n.amount), coalesce(sum(n.amount), 0), count(n.fee), coalesce(sum(n.fee), 0), max(n.fee)
      FROM new_rows n WHERE n.is_listed GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
    RETURNING id)
  SELECT min(a.id), max(a.id) INTO first_id, last_id FROM added a;
  IF last_id / 1000 > (first_id - 1) / 1000 THEN PERFORM engine.fold_totals(); END IF;
  RETURN NULL;
END $function$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.note_updated_totals()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
DECLARE
  first_id bigint;
  last_id bigint;
BEGIN
  WITH added AS (
    INSERT INTO engine.total_changes
      (wallet, day, stream, symbol, state, is_success, fee_symbol, lacks_detail, transactions, amounts, amount, fees, fee, largest_fee,
       lost_fee)
    SELECT g.wallet, g.day, g.stream, g.symbol, g.state, g.is_success, g.fee_symbol, g.lacks_detail, g.transactions, g.amounts,
           g.amount, g.fees, g.fee, g.largest_fee, CASE WHEN g.former_fee > coalesce(g.largest_fee, '-Infinity') THEN g.former_fee END
      FROM (SELECT x.wallet, (x.occurred_at AT TIME ZONE 'UTC')::date AS day, x.stream, x.symbol, x.state, x.is_success,
                   x.fee_symbol, x.lacks_detail, sum(x.sign) AS transactions,
                   coalesce(sum(x.sign) FILTER (WHERE x.amount IS NOT NULL), 0) AS amounts,
                   coalesce(sum(x.sign * x.amount), 0) AS amount,
                   coalesce(sum(x.sign) FILTER (WHERE x.fee IS NOT NULL), 0) AS fees,
                   coalesce(sum(x.sign * x.fee), 0) AS fee,
                   max(x.fee) FILTER (WHERE x.sign = 1) AS largest_fee,
                   max(x.fee) FILTER (WHERE x.sign = -1) AS former_fee
              FROM (SELECT 1 AS sign, n.wallet, n.stream, n.occurred_at, n.symbol, n.state, n.is_success, n.fee_symbol, n.amount, n.fee,
                           n.detail_synced_at IS NULL AS lacks_detail
                      FROM new_rows n WHERE n.is_listed
                    UNION ALL
                    SELECT -1, o.wallet, o.stream, o.occurred_at, o.symbol, o.state, o.is_success, o.fee_symbol, o.amount, o.fee,
                           o.detail_synced_at IS NULL
                      FROM old_rows o WHERE o.is_listed) AS x
             GROUP BY 1, 2, 3, 4, 5, 6, 7, 8) AS g
     WHERE (g.transactions, g.amounts, g.amount, g.fees, g.fee) <> (0, 0, 0, 0, 0)
        OR g.former_fee IS DISTINCT FROM g.largest_fee
    RETURNING id)
  SELECT min(a.id), max(a.id) INTO first_id, last_id FROM added a;
  IF last_id / 1000 > (first_id - 1) / 1000 THEN PERFORM engine.fold_totals(); END IF;
  RETURN NULL;
END $function$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.note_deleted_totals()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
BEGIN
  INSERT INTO engine.total_changes
    (wallet, day, stream, symbol, state, is_success, fee_symbol, lacks_detail, transactions, amounts, amount, fees, fee, lost_fee)
  SELECT o.wallet, (o.occurred_at AT TIME ZONE 'UTC')::date, o.stream, o.symbol, o.state, o.is_success, o.fee_symbol,
         o.detail_synced_at IS NULL, - count(*), - count(o.amount), - coalesce(sum(o.amount), 0), - count(o.fee), - coalesce(sum(o.fee), 0), max(o.fee)
    FROM old_rows o WHERE o.is_listed GROUP BY 1, 2, 3, 4, 5, 6, 7, 8;
  PERFORM engine.fold_totals();
  RETURN NULL;
END $function$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.find_largest_fees(keys uuid[])
 RETURNS void
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
UPDATE engine.daily_sums s
   SET largest_fee = (SELECT max(t.fee) FROM ledger.transactions t
                         WHERE t.wallet = s.wallet AND t.stream = s.stream AND t.is_listed AND t.is_success = s.is_success
                           AND (t.detail_synced_at IS NULL) = s.lacks_detail
                           AND (t.symbol, t.state, t.fee_symbol) IS NOT DISTINCT FROM (s.symbol, s.state, s.fee_symbol)
                           AND CASE WHEN s.day IS NULL THEN t.occurred_at IS NULL
                                    ELSE (t.occurred_at AT TIME ZONE 'UTC')::date = s.day END)
 WHERE s.key = ANY (keys);
UPDATE engine.all_sums a
   SET largest_fee = (SELECT max(s.largest_fee) FROM engine.daily_sums s
                       WHERE (s.wallet, s.stream, s.is_success, s.lacks_detail) = (a.wallet, a.stream, a.is_success, a.lacks_detail)
                         AND (s.symbol, s.state, s.fee_symbol) IS NOT DISTINCT FROM (a.symbol, a.state, a.fee_symbol))
 WHERE a.key IN (SELECT engine.sum_key(s.wallet, s.stream, s.symbol, s.state, s.is_success::text, s.fee_symbol, s.lacks_detail::text)
                   FROM engine.daily_sums s WHERE s.key = ANY (keys));
$function$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION engine.mend_totals()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
DECLARE
  mended bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(7246007);
  INSERT INTO engine.total_changes (wallet, day, stream, symbol, state, is_success, fee_symbol, lacks_detail, transactions,
                                    amounts, amount, fees, fee)
  SELECT d.wallet, d.day, d.stream, d.symbol, d.state, d.is_success, d.fee_symbol, d.lacks_detail, d.transactions, d.amounts, d.amount, d.fees,
         d.fee
    FROM ledger.total_drift d;
  GET DIAGNOSTICS mended = ROW_COUNT;
  PERFORM engine.fold_totals();
  UPDATE engine.daily_sums s SET largest_fee = c.largest_fee
    FROM (SELECT engine.sum_key(g.wallet, extract(epoch FROM g.day)::text, g.stream, g.symbol, g.state, g.is_success::text, g.fee_symbol,
                                g.lacks_detail::text) AS key,
                 g.largest_fee
            FROM (SELECT t.wallet, (t.occurred_at AT TIME ZONE 'UTC')::date AS day, t.stream, t.symbol, t.state, t.is_success,
                         t.fee_symbol, t.detail_synced_at IS NULL AS lacks_detail, max(t.fee) AS largest_fee
                    FROM ledger.transactions t WHERE t.is_listed GROUP BY 1, 2, 3, 4, 5, 6, 7, 8) AS g) AS c
   WHERE s.key = c.key AND s.largest_fee IS DISTINCT FROM c.largest_fee;
  UPDATE engine.all_sums s SET largest_fee = c.largest_fee
    FROM (SELECT engine.sum_key(d.wallet, d.stream, d.symbol, d.state, d.is_success::text, d.fee_symbol, d.lacks_detail::text) AS key,
                 max(d.largest_fee) AS largest_fee
            FROM engine.daily_sums d GROUP BY 1) AS c
   WHERE s.key = c.key AND s.largest_fee IS DISTINCT FROM c.largest_fee;
  RETURN mended;
END $function$;
--> statement-breakpoint
CREATE OR REPLACE VIEW engine.daily_sums_now AS
 SELECT s.day,
    s.stream,
    s.symbol,
    s.state,
    s.is_success,
    s.fee_symbol,
    s.transactions,
    s.amounts,
    s.amount,
    s.fees,
    s.fee,
    s.largest_fee,
    s.lacks_detail,
    s.wallet
   FROM engine.daily_sums s
UNION ALL
 SELECT c.day,
    c.stream,
    c.symbol,
    c.state,
    c.is_success,
    c.fee_symbol,
    c.transactions,
    c.amounts,
    c.amount,
    c.fees,
    c.fee,
    c.largest_fee,
    c.lacks_detail,
    c.wallet
   FROM engine.total_changes c;
--> statement-breakpoint
CREATE OR REPLACE VIEW engine.all_sums_now AS
 SELECT x.stream,
    x.symbol,
    x.state,
    x.is_success,
    x.fee_symbol,
    (sum(x.transactions))::bigint AS transactions,
    (sum(x.amounts))::bigint AS amounts,
    sum(x.amount) AS amount,
    (sum(x.fees))::bigint AS fees,
    sum(x.fee) AS fee,
    max(x.largest_fee) AS largest_fee,
    x.lacks_detail,
    x.wallet
   FROM ( SELECT s.stream,
            s.symbol,
            s.state,
            s.is_success,
            s.fee_symbol,
            s.transactions,
            s.amounts,
            s.amount,
            s.fees,
            s.fee,
            s.largest_fee,
            s.lacks_detail,
            s.wallet
           FROM engine.all_sums s
        UNION ALL
         SELECT c.stream,
            c.symbol,
            c.state,
            c.is_success,
            c.fee_symbol,
            c.transactions,
            c.amounts,
            c.amount,
            c.fees,
            c.fee,
            c.largest_fee,
            c.lacks_detail,
            c.wallet
           FROM engine.total_changes c) x
  GROUP BY x.stream, x.symbol, x.state, x.is_success, x.fee_symbol, x.lacks_detail, x.wallet
 HAVING (sum(x.transactions) <> (0)::numeric);
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.totals AS
 SELECT s.stream,
    s.symbol,
    s.state,
    s.is_success,
    s.fee_symbol,
    s.transactions,
        CASE
            WHEN (s.amounts > 0) THEN s.amount
            ELSE NULL::numeric
        END AS amount,
        CASE
            WHEN (s.fees > 0) THEN s.fee
            ELSE NULL::numeric
        END AS fee,
    s.largest_fee,
    s.lacks_detail,
    s.wallet
   FROM engine.all_sums_now s;
--> statement-breakpoint
CREATE OR REPLACE VIEW ledger.total_drift AS
 SELECT x.day,
    x.stream,
    x.symbol,
    x.state,
    x.is_success,
    x.fee_symbol,
    (sum(x.transactions))::bigint AS transactions,
    (sum(x.amounts))::bigint AS amounts,
    sum(x.amount) AS amount,
    (sum(x.fees))::bigint AS fees,
    sum(x.fee) AS fee,
    x.lacks_detail,
    x.wallet
   FROM ( SELECT ((t.occurred_at AT TIME ZONE 'UTC'::text))::date AS day,
            t.stream,
            t.symbol,
            t.state,
            t.is_success,
            t.fee_symbol,
            count(*) AS transactions,
            count(t.amount) AS amounts,
            COALESCE(sum(t.amount), (0)::numeric) AS amount,
            count(t.fee) AS fees,
            COALESCE(sum(t.fee), (0)::numeric) AS fee,
            (t.detail_synced_at IS NULL) AS lacks_detail,
            t.wallet
           FROM ledger.transactions t
          WHERE t.is_listed
          GROUP BY (((t.occurred_at AT TIME ZONE 'UTC'::text))::date), t.stream, t.symbol, t.state, t.is_success, t.fee_symbol, (t.detail_synced_at IS NULL), t.wallet
        UNION ALL
         SELECT s.day,
            s.stream,
            s.symbol,
            s.state,
            s.is_success,
            s.fee_symbol,
            (- s.transactions),
            (- s.amounts),
            (- s.amount),
            (- s.fees),
            (- s.fee),
            s.lacks_detail,
            s.wallet
           FROM engine.daily_sums_now s) x
  GROUP BY x.day, x.stream, x.symbol, x.state, x.is_success, x.fee_symbol, x.lacks_detail, x.wallet
 HAVING ((sum(x.transactions) <> (0)::numeric) OR (sum(x.amounts) <> (0)::numeric) OR (sum(x.amount) <> (0)::numeric) OR (sum(x.fees) <> (0)::numeric) OR (sum(x.fee) <> (0)::numeric));
--> statement-breakpoint
COMMENT ON COLUMN ledger.totals.wallet IS 'Wallet of the transactions';
COMMENT ON COLUMN ledger.total_drift.wallet IS 'Wallet of the transactions';
--> statement-breakpoint
CREATE VIEW engine.wallet_names WITH (security_invoker = true) AS
WITH known AS (
  SELECT w.wallet FROM ledger.wallets w
  UNION SELECT s.wallet FROM ledger.streams s
  UNION SELECT p.wallet FROM ledger.pools p
)
SELECT k.wallet FROM known k
UNION ALL
SELECT 'main' WHERE NOT EXISTS (SELECT FROM known);
--> statement-breakpoint
COMMENT ON VIEW engine.wallet_names IS 'Wallets that the ledger knows; main if it knows none yet';
COMMENT ON COLUMN engine.wallet_names.wallet IS 'Name of the wallet, one of WALLETS';
--> statement-breakpoint
CREATE FUNCTION engine.only_wallet() RETURNS text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  names text[];
BEGIN
  SELECT array_agg(w.wallet ORDER BY w.wallet) INTO names FROM engine.wallet_names w;
  IF cardinality(names) > 1 THEN
    RAISE EXCEPTION 'this ledger has several wallets (%)', array_to_string(names, ', ')
      USING ERRCODE = 'invalid_parameter_value', HINT = 'name one as the first argument';
  END IF;
  RETURN names[1];
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.only_wallet IS 'Wallet of a ledger that has one; an error where it has several';
--> statement-breakpoint
-- Views of the tables that show the rows of one wallet, the session's. The program reads and writes through them, so
-- that no statement of it can reach another wallet's rows. They use the rights of whoever reads them.
CREATE SCHEMA own;
--> statement-breakpoint
COMMENT ON SCHEMA own IS 'Tables of ledger and engine as views with the rows of one wallet, engine.wallet(); for the program only';
--> statement-breakpoint
CREATE FUNCTION engine.make_own_views() RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  r record;
  g record;
BEGIN
  FOR r IN
    SELECT c.oid, c.relname AS name, c.oid::regclass AS relation, c.relacl, c.relowner,
           (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FROM pg_attribute a
             WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns
      FROM pg_class c JOIN pg_attribute w ON w.attrelid = c.oid AND w.attname = 'wallet' AND NOT w.attisdropped
     WHERE c.relnamespace IN ('ledger'::regnamespace, 'engine'::regnamespace) AND c.relkind IN ('r', 'v')
       AND c.oid <> 'engine.wallet_names'::regclass
  LOOP
    EXECUTE format('DROP VIEW IF EXISTS own.%I', r.name);
    EXECUTE format('CREATE VIEW own.%I WITH (security_invoker = true) AS SELECT %s FROM %s WHERE wallet = engine.wallet()',
                   r.name, r.columns, r.relation);
    EXECUTE format('COMMENT ON VIEW own.%I IS %L', r.name, format('Rows of %s that belong to the session''s wallet', r.relation));
    FOR g IN
      SELECT a.grantee::regrole AS grantee, string_agg(a.privilege_type, ', ') AS privileges
        FROM aclexplode(r.relacl) a
       WHERE a.grantee NOT IN (0, r.relowner) AND a.privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
       GROUP BY 1
    LOOP
      EXECUTE format('GRANT USAGE ON SCHEMA own TO %s', g.grantee);
      EXECUTE format('GRANT %s ON own.%I TO %s', g.privileges, r.name, g.grantee);
    END LOOP;
  END LOOP;
END $$;
--> statement-breakpoint
COMMENT ON FUNCTION engine.make_own_views IS 'Makes the views of the schema own anew, for the columns and rights that the tables have now';
--> statement-breakpoint
SELECT engine.make_own_views();
--> statement-breakpoint
SELECT engine.settle_rights();
