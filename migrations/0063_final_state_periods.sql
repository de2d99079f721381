CREATE TABLE "ledger"."final_state_periods" (
	"wallet" text DEFAULT engine.wallet() NOT NULL,
	"state" text NOT NULL,
	"valid_from" timestamp with time zone NOT NULL,
	"valid_to" timestamp with time zone,
	CONSTRAINT "final_state_periods_wallet_state_valid_from_pk" PRIMARY KEY("wallet","state","valid_from")
);
--> statement-breakpoint
COMMENT ON TABLE ledger.final_state_periods IS 'Final states of each time, so that transactions_at can tell which rows were final then';
COMMENT ON COLUMN ledger.final_state_periods.wallet IS 'Wallet whose setting it was';
COMMENT ON COLUMN ledger.final_state_periods.state IS 'State of WALLET_FINAL_STATES, in lower case';
COMMENT ON COLUMN ledger.final_state_periods.valid_from IS 'Since when it was a final one; 1970: since the first reading';
COMMENT ON COLUMN ledger.final_state_periods.valid_to IS 'Until when; null: still is';
--> statement-breakpoint
INSERT INTO ledger.final_state_periods (wallet, state, valid_from)
SELECT f.wallet, f.state, 'epoch' FROM ledger.final_states f;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.transactions_at(wallet text, at timestamptz)
RETURNS TABLE (order_no text, stream text, request_id text, symbol text, tx_hash text, from_address text, to_address text,
               amount numeric, type text, state text, confirm_num integer, fee numeric, fee_symbol text,
               occurred_at timestamptz, is_final boolean, is_listed boolean, first_seen_at timestamptz, extra jsonb)
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
       s.state,
       CASE WHEN u.old ? 'confirm_num' THEN (u.old ->> 'confirm_num')::integer WHEN t.filled IS NOT NULL THEN NULL ELSE t.confirm_num END,
       CASE WHEN u.old ? 'fee' THEN (u.old ->> 'fee')::numeric WHEN t.filled IS NOT NULL THEN NULL ELSE t.fee END,
       CASE WHEN u.old ? 'fee_symbol' THEN u.old ->> 'fee_symbol' WHEN t.filled IS NOT NULL THEN NULL ELSE t.fee_symbol END,
       CASE WHEN u.old ? 'occurred_at' THEN (u.old ->> 'occurred_at')::timestamptz WHEN 'occurred_at' = ANY (t.filled) THEN NULL ELSE t.occurred_at END,
       CASE WHEN p.states IS NOT NULL THEN coalesce(lower(btrim(s.state)) = ANY (p.states), false)
            WHEN u.old ? 'state'
              THEN coalesce((t.wallet, lower(btrim(u.old ->> 'state'))) IN (SELECT f.wallet, f.state FROM ledger.final_states f), false)
            WHEN 'state' = ANY (t.filled) THEN false ELSE t.is_final END,
       CASE WHEN u.old ? 'is_listed' THEN (u.old ->> 'is_listed')::boolean ELSE t.is_listed END,
       t.first_seen_at,
       CASE WHEN u.old ? 'extra' THEN (u.old ->> 'extra')::jsonb WHEN 'extra' = ANY (t.filled) THEN NULL ELSE t.extra END
  FROM (SELECT x.*, CASE WHEN x.first_detail_at > at THEN coalesce(x.first_detail_filled, '{}') END AS filled
          FROM ledger.transactions x) AS t
  LEFT JOIN (SELECT o.wallet, o.order_no, jsonb_object_agg(o.field, o.old_value) AS old
               FROM (SELECT DISTINCT ON (c.wallet, c.order_no, c.field) c.wallet, c.order_no, c.field,
                            CASE WHEN x.first_detail_at > at AND c.observed_at >= x.first_detail_at
                                  AND (c.field IN ('confirm_num', 'fee', 'fee_symbol')
                                       OR c.field = ANY (x.first_detail_filled))
                              THEN NULL ELSE c.old_value END AS old_value
                       FROM ledger.transactions x
                       JOIN ledger.transaction_changes c ON c.wallet = x.wallet AND c.order_no = x.order_no
                      WHERE x.first_seen_at <= at AND x.changed_at > at - interval '1 day' AND c.observed_at > at
                      ORDER BY c.wallet, c.order_no, c.field, c.id) AS o
              GROUP BY o.wallet, o.order_no) AS u ON u.wallet = t.wallet AND u.order_no = t.order_no
  CROSS JOIN LATERAL (SELECT CASE WHEN u.old ? 'state' THEN u.old ->> 'state' WHEN 'state' = ANY (t.filled) THEN NULL ELSE t.state END) AS s (state)
  -- Null: the final states have been the same ever since.
  CROSS JOIN (SELECT CASE WHEN bool_or(y.valid_to > at OR y.valid_from > at)
                       THEN coalesce(array_agg(y.state) FILTER (WHERE y.valid_from <= at AND coalesce(y.valid_to > at, true)), '{}') END
                FROM ledger.final_state_periods y WHERE y.wallet = transactions_at.wallet) AS p (states)
 WHERE t.wallet = transactions_at.wallet AND t.first_seen_at <= at
$$;
--> statement-breakpoint
COMMENT ON FUNCTION ledger.transactions_at(timestamptz) IS 'Transactions as the ledger knew them at that time: rows that were first seen by then, each field with its value of that time, is_final by the final states that were set then. confirm_num may be a later value, because rising confirmations are not recorded. For rows of an earlier version, filled fields and a return to the list are not known, and is_final follows the settings at the upgrade';
COMMENT ON FUNCTION ledger.transactions_at(text, timestamptz) IS 'As transactions_at(at), for a named wallet';
--> statement-breakpoint
-- Roles that see one wallet see that wallet's rows of every table.
DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_policy WHERE polname = 'seen_wallets') THEN PERFORM engine.restrict_readers(); END IF;
END $$;
--> statement-breakpoint
SELECT engine.make_own_views();
--> statement-breakpoint
SELECT engine.settle_rights();
