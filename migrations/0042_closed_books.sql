CREATE TABLE "ledger"."closed_books" (
	"month" date NOT NULL,
	"part" text NOT NULL,
	"no" bigint NOT NULL,
	"cells" text[] NOT NULL,
	CONSTRAINT "closed_books_month_part_no_pk" PRIMARY KEY("month","part","no")
);

--> statement-breakpoint
COMMENT ON TABLE ledger.closed_books IS 'Books of the closed months as they stood when each was closed, which the export of such a month is written from. Never changes afterwards: what comes later is in late_entries';
COMMENT ON COLUMN ledger.closed_books.month IS 'First day of the month (UTC), as in closed_months';
COMMENT ON COLUMN ledger.closed_books.part IS 'chart: role and name of an account. coins: symbol, decimals, digits before the point, number of values. accounts: name. openings: symbol and amount before the history began. carried: symbol, account and sum before the month. postings: order_no, posting_no, booked_at, account, symbol, amount, stream, tx_hash. day_ends: day, symbol, reported balance, booked balance, whether they agree';
COMMENT ON COLUMN ledger.closed_books.no IS 'Place of the line in its part, from 1';
COMMENT ON COLUMN ledger.closed_books.cells IS 'Values of the line in the order that part names, as texts with all their digits';
COMMENT ON COLUMN ledger.closed_months.digest IS 'SHA-256 of the month''s export as CSV, in hexadecimal digits: that of `wallet-ledger export --format csv` from its first to its last day';
