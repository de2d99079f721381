CREATE TABLE "ledger"."accounts" (
	"role" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ledger"."closed_months" (
	"month" date PRIMARY KEY NOT NULL,
	"closed_at" timestamp with time zone NOT NULL,
	"transactions" bigint NOT NULL,
	"digest" text NOT NULL,
	CONSTRAINT "closed_months_first_day" CHECK (extract(day from "ledger"."closed_months"."month") = 1)
);

--> statement-breakpoint
ALTER TABLE ledger.accounts ADD CONSTRAINT accounts_named CHECK (btrim(name) <> '');
--> statement-breakpoint
INSERT INTO ledger.accounts (role, name) VALUES
  ('custody', 'assets:custody'),
  ('customers', 'liabilities:customers'),
  ('withdrawn', 'equity:withdrawn'),
  ('fees', 'expenses:fees');
--> statement-breakpoint
-- Two arms, so that a window on booked_at uses the index on occurred_at: rows without a time are few.
CREATE VIEW ledger.postings AS
SELECT t.order_no, p.posting_no, t.booked_at, p.account, p.symbol, p.amount
  FROM (SELECT d.order_no, d.stream, d.symbol, d.to_address, d.amount, d.fee, d.fee_symbol, d.occurred_at AS booked_at
          FROM ledger.transactions d
         WHERE d.stream IN ('deposit', 'withdraw') AND d.is_listed AND d.is_success AND d.occurred_at IS NOT NULL
        UNION ALL
        SELECT u.order_no, u.stream, u.symbol, u.to_address, u.amount, u.fee, u.fee_symbol, u.first_seen_at
          FROM ledger.transactions u
         WHERE u.stream IN ('deposit', 'withdraw') AND u.is_listed AND u.is_success AND u.occurred_at IS NULL) AS t
 CROSS JOIN LATERAL (VALUES
   (1, coalesce((SELECT a.name FROM ledger.accounts a WHERE a.role = 'custody'), 'custody'), t.symbol,
    CASE t.stream WHEN 'deposit' THEN t.amount ELSE - t.amount END),
   (2, CASE t.stream
         WHEN 'deposit' THEN coalesce((SELECT a.name FROM ledger.accounts a WHERE a.role = 'customers'), 'customers')
           || coalesce(':' || (SELECT h.assigned_to FROM ledger.addresses h
                                WHERE h.address_key = ledger.address_key(t.to_address) AND h.assigned_to IS NOT NULL
                                ORDER BY h.slip44 LIMIT 1), '')
         ELSE coalesce((SELECT a.name FROM ledger.accounts a WHERE a.role = 'withdrawn'), 'withdrawn') END, t.symbol,
    CASE t.stream WHEN 'deposit' THEN - t.amount ELSE t.amount END),
   (3, coalesce((SELECT a.name FROM ledger.accounts a WHERE a.role = 'custody'), 'custody'), t.fee_symbol,
    - nullif(t.fee, 0)),
   (4, coalesce((SELECT a.name FROM ledger.accounts a WHERE a.role = 'fees'), 'fees'), t.fee_symbol, nullif(t.fee, 0))
 ) AS p (posting_no, account, symbol, amount)
 WHERE p.symbol IS NOT NULL AND p.amount IS NOT NULL;
--> statement-breakpoint
CREATE VIEW ledger.unposted_values AS
SELECT t.order_no, m.missing, t.booked_at, t.stream, t.symbol
  FROM (SELECT d.order_no, d.stream, d.symbol, d.amount, d.fee, d.fee_symbol, d.detail_synced_at,
               d.occurred_at AS booked_at
          FROM ledger.transactions d
         WHERE d.stream IN ('deposit', 'withdraw') AND d.is_listed AND d.is_success AND d.occurred_at IS NOT NULL
        UNION ALL
        SELECT u.order_no, u.stream, u.symbol, u.amount, u.fee, u.fee_symbol, u.detail_synced_at, u.first_seen_at
          FROM ledger.transactions u
         WHERE u.stream IN ('deposit', 'withdraw') AND u.is_listed AND u.is_success AND u.occurred_at IS NULL) AS t
 CROSS JOIN LATERAL (VALUES
   ('amount', t.amount IS NULL),
   ('symbol', t.symbol IS NULL),
   ('fee', t.fee IS NULL AND (t.detail_synced_at IS NULL OR EXISTS (
     SELECT FROM ledger.rejects r
      WHERE r.order_no = t.order_no AND r.resolved_at IS NULL AND r.field = 'fee'))),
   ('fee_symbol', t.fee <> 0 AND t.fee_symbol IS NULL)) AS m (missing, is_missing)
 WHERE m.is_missing;
--> statement-breakpoint
COMMENT ON TABLE ledger.accounts IS 'Chart of accounts: how the view postings names its accounts. Rename them with UPDATE ... SET name; a role without a row is named by the role itself';
COMMENT ON COLUMN ledger.accounts.role IS 'custody: the coins that the service keeps; customers: what depositors are owed; withdrawn: what left through withdrawals; fees: what the service charged';
COMMENT ON COLUMN ledger.accounts.name IS 'Name of the account, levels separated by colons';
COMMENT ON TABLE ledger.closed_months IS 'Months whose books are closed, one row for each';
COMMENT ON COLUMN ledger.closed_months.month IS 'First day of the month (UTC), as 2026-03-01';
COMMENT ON COLUMN ledger.closed_months.closed_at IS 'When the month was closed';
COMMENT ON COLUMN ledger.closed_months.transactions IS 'Number of transactions in its books: those with postings booked in the month';
COMMENT ON COLUMN ledger.closed_months.digest IS 'Hash of the export of the month';
--> statement-breakpoint
COMMENT ON VIEW ledger.postings IS 'Double entry of the listed transactions in a success state. Debits are positive, so the accounts add up to 0 per order_no and symbol. A deposit is +amount on custody and -amount on the customer. A withdrawal is -amount on custody and +amount on withdrawn. A fee is -fee on custody and +fee on fees, in the coin of the fee. The sum of custody is the column expected of reconciliation. Trap: a value that is not known makes no posting, see unposted_values. Give a window on booked_at, because the view reads all transactions otherwise';
COMMENT ON COLUMN ledger.postings.order_no IS 'Order identifier (orderNo)';
COMMENT ON COLUMN ledger.postings.posting_no IS 'Side of the transaction: 1 custody and 2 the other side of the amount, 3 custody and 4 the other side of the fee. A fee of 0 has no postings';
COMMENT ON COLUMN ledger.postings.booked_at IS 'Time of the transaction (occurred_at); where the service gave none, the time at which the ledger first saw it (first_seen_at)';
COMMENT ON COLUMN ledger.postings.account IS 'Name of the account (accounts.name). A deposit to an address that was handed out is on customers:<reference>, with the reference as it was given; any other one is on customers alone';
COMMENT ON COLUMN ledger.postings.symbol IS 'Coin symbol code: of the amount in postings 1 and 2, of the fee in postings 3 and 4';
COMMENT ON COLUMN ledger.postings.amount IS 'Amount in units of the coin: positive is a debit, negative a credit';
--> statement-breakpoint
COMMENT ON VIEW ledger.unposted_values IS 'Values that the postings lack because they are not known: one row per value of a listed transaction in a success state. Empty means that the books are whole. Give a window on booked_at, because the view reads all transactions otherwise';
COMMENT ON COLUMN ledger.unposted_values.order_no IS 'Order identifier (orderNo)';
COMMENT ON COLUMN ledger.unposted_values.missing IS 'amount or symbol: the transaction has no postings 1 and 2. fee_symbol: it has a fee whose coin is not known. fee: its detail has not been fetched yet, or the fee in it is unreadable';
COMMENT ON COLUMN ledger.unposted_values.booked_at IS 'As in postings';
COMMENT ON COLUMN ledger.unposted_values.stream IS 'deposit or withdraw';
COMMENT ON COLUMN ledger.unposted_values.symbol IS 'Coin symbol code of the amount; null when it is not known';
