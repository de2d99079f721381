-- One row for ever; every request to the service passes here.
INSERT INTO ledger.request_tickets (id, last_nonce, next_slot_at) VALUES (1, 0, now());
--> statement-breakpoint
-- n tickets in one round trip. The row's lock puts the callers of all processes in one order, so observation
-- numbers, nonces and slots rise together. max_rps null: no budget, only the pause holds.
-- The commit does not wait for the disk: numbers lost in a crash of the database were never stored in a row, and
-- the clock has passed the lost nonces by the time it is back.
CREATE FUNCTION ledger.take_tickets(n integer, max_rps double precision, nonce_unit text)
RETURNS TABLE (observation bigint, nonce bigint, wait_ms double precision)
LANGUAGE plpgsql AS $$
DECLARE
  ticket ledger.request_tickets%ROWTYPE;
  asked_at timestamptz;
  first_nonce bigint;
  first_slot timestamptz;
  spacing interval := coalesce(make_interval(secs => 1 / max_rps), interval '0');
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  SELECT * INTO STRICT ticket FROM ledger.request_tickets WHERE id = 1 FOR UPDATE;
  asked_at := clock_timestamp();
  first_nonce := greatest(
    ticket.last_nonce + 1,
    floor(extract(epoch FROM asked_at) * CASE nonce_unit WHEN 'us' THEN 1000000 ELSE 1000 END)::bigint
  );
  first_slot := greatest(ticket.next_slot_at, asked_at);
  UPDATE ledger.request_tickets
     SET last_nonce = first_nonce + n - 1,
         next_slot_at = CASE WHEN max_rps IS NULL THEN ticket.next_slot_at ELSE first_slot + n * spacing END
   WHERE id = 1;
  RETURN QUERY
    SELECT nextval('ledger.observations'),
           first_nonce + i,
           greatest(0, extract(epoch FROM first_slot + i * spacing - asked_at) * 1000)::double precision
      FROM generate_series(0, n - 1) AS i;
END $$;
--> statement-breakpoint
CREATE FUNCTION ledger.pause_requests(pause_ms double precision) RETURNS void
LANGUAGE sql AS $$
  UPDATE ledger.request_tickets
     SET next_slot_at = greatest(next_slot_at, clock_timestamp() + make_interval(secs => pause_ms / 1000))
   WHERE id = 1
$$;
--> statement-breakpoint
COMMENT ON SCHEMA ledger IS 'Exact copy of the wallet service''s history: transactions, balances, coins and addresses';
--> statement-breakpoint
COMMENT ON SEQUENCE ledger.observations IS 'Numbers of all requests ever sent to the service, in the order of sending';
--> statement-breakpoint
COMMENT ON FUNCTION ledger.take_tickets IS 'Permission for n requests to the service: observation number, nonce and milliseconds to wait, in one order over all processes';
--> statement-breakpoint
COMMENT ON FUNCTION ledger.pause_requests IS 'Holds back the requests of all processes for so many milliseconds';
--> statement-breakpoint
COMMENT ON TABLE ledger.transactions IS 'Every deposit and withdrawal the service has listed, one row per order; never deleted';
COMMENT ON COLUMN ledger.transactions.order_no IS 'Order identifier, unique within the service (orderNo)';
COMMENT ON COLUMN ledger.transactions.stream IS 'The list that counts the row: deposit or withdraw; follows type, or the list it came from where type is something else';
COMMENT ON COLUMN ledger.transactions.request_id IS 'Request identifier of a withdrawal (requestId); null for deposits';
COMMENT ON COLUMN ledger.transactions.symbol IS 'Coin symbol code (symbol)';
COMMENT ON COLUMN ledger.transactions.tx_hash IS 'Transaction hash on the blockchain (txHash); null until the service knows it';
COMMENT ON COLUMN ledger.transactions.from_address IS 'Address the funds are sent from (fromAddress)';
COMMENT ON COLUMN ledger.transactions.to_address IS 'Address the funds are sent to (toAddress)';
COMMENT ON COLUMN ledger.transactions.amount IS 'Amount with the service''s own digits, in the unit the service uses (amount); null when unreadable, see rejects';
COMMENT ON COLUMN ledger.transactions.type IS 'deposit or withdraw, as the service says (type)';
COMMENT ON COLUMN ledger.transactions.state IS 'State as the service says (state)';
COMMENT ON COLUMN ledger.transactions.confirm_num IS 'Block confirmations when the detail was last fetched (confirmNum); null before the first detail';
COMMENT ON COLUMN ledger.transactions.fee IS 'Fee with the service''s own digits, in units of fee_symbol (fee); null before the first detail';
COMMENT ON COLUMN ledger.transactions.fee_symbol IS 'Coin symbol of the fee (feeSymbol); null before the first detail';
COMMENT ON COLUMN ledger.transactions.occurred_at IS 'Time of the transaction (time, UTC); null when unreadable, see rejects';
COMMENT ON COLUMN ledger.transactions.is_final IS 'Whether WALLET_FINAL_STATES names the state: it is not expected to change any more';
COMMENT ON COLUMN ledger.transactions.is_listed IS 'False once a complete walk over the service''s list no longer found the row';
COMMENT ON COLUMN ledger.transactions.detail_synced_at IS 'When the detail was last fetched; null before the first time';
COMMENT ON COLUMN ledger.transactions.next_check_at IS 'When the detail is due next; null when nothing is left to fetch. While a worker holds the row this lies a little ahead';
COMMENT ON COLUMN ledger.transactions.first_seen_at IS 'When the ledger first saw the row';
COMMENT ON COLUMN ledger.transactions.changed_at IS 'When a value of the row last changed, first sight included';
COMMENT ON COLUMN ledger.transactions.observed_at IS 'When the answer that last changed or completed the row was stored';
COMMENT ON COLUMN ledger.transactions.observation IS 'Number of the request whose answer last wrote the row; an answer with a lower number never overwrites';
COMMENT ON COLUMN ledger.transactions.extra IS 'Fields of the service''s payload that its document does not name; null as a rule';
--> statement-breakpoint
COMMENT ON TABLE ledger.transaction_changes IS 'One row per field of a transaction that changed. First sight, filling an empty field and a rising confirm_num are no changes';
COMMENT ON COLUMN ledger.transaction_changes.id IS 'Ever increasing';
COMMENT ON COLUMN ledger.transaction_changes.order_no IS 'The transaction';
COMMENT ON COLUMN ledger.transaction_changes.observed_at IS 'When the ledger stored the new value';
COMMENT ON COLUMN ledger.transaction_changes.field IS 'Column of transactions';
COMMENT ON COLUMN ledger.transaction_changes.old_value IS 'Value before, as text';
COMMENT ON COLUMN ledger.transaction_changes.new_value IS 'Value after, as text';
--> statement-breakpoint
COMMENT ON TABLE ledger.final_states IS 'The states that the settings took as final when rows were last judged';
COMMENT ON COLUMN ledger.final_states.state IS 'State in lower case (WALLET_FINAL_STATES)';
COMMENT ON COLUMN ledger.final_states.is_success IS 'Whether a transaction in this state moved money (WALLET_SUCCESS_STATES)';
--> statement-breakpoint
COMMENT ON TABLE ledger.balances IS 'The wallet''s balance per coin, as last reported';
COMMENT ON COLUMN ledger.balances.slip44 IS 'slip44 code of the coin''s chain';
COMMENT ON COLUMN ledger.balances.symbol IS 'Coin symbol code';
COMMENT ON COLUMN ledger.balances.contract_address IS 'Contract address of a token; empty for a main-chain coin';
COMMENT ON COLUMN ledger.balances.name IS 'Display name';
COMMENT ON COLUMN ledger.balances.chain_name IS 'Name of the chain (chainName)';
COMMENT ON COLUMN ledger.balances.chain_symbol IS 'Symbol of the chain (chainSymbol)';
COMMENT ON COLUMN ledger.balances.balance IS 'Total balance with the service''s own digits; null when unreadable, see rejects';
COMMENT ON COLUMN ledger.balances.frozen IS 'Frozen part of the balance; null when not given';
COMMENT ON COLUMN ledger.balances.decimals IS 'Number of decimals of the coin (decimal)';
COMMENT ON COLUMN ledger.balances.is_listed IS 'False once the service stopped listing this balance';
COMMENT ON COLUMN ledger.balances.observed_at IS 'When the answer that last changed the row was stored';
COMMENT ON COLUMN ledger.balances.changed_at IS 'When a value of the row last changed, first sight included';
COMMENT ON COLUMN ledger.balances.observation IS 'Number of the request whose answer last wrote the row';
--> statement-breakpoint
COMMENT ON TABLE ledger.balance_changes IS 'One row per change of a balance, first sight included; never one per poll';
COMMENT ON COLUMN ledger.balance_changes.id IS 'Ever increasing';
COMMENT ON COLUMN ledger.balance_changes.slip44 IS 'slip44 code of the coin''s chain';
COMMENT ON COLUMN ledger.balance_changes.symbol IS 'Coin symbol code';
COMMENT ON COLUMN ledger.balance_changes.contract_address IS 'Contract address of a token; empty for a main-chain coin';
COMMENT ON COLUMN ledger.balance_changes.balance IS 'Total balance from this moment on; null when the service stopped listing it, or when it was unreadable (see rejects)';
COMMENT ON COLUMN ledger.balance_changes.frozen IS 'Frozen part from this moment on';
COMMENT ON COLUMN ledger.balance_changes.observed_at IS 'When the ledger stored the change';
--> statement-breakpoint
COMMENT ON TABLE ledger.coins IS 'The coins the wallet supports';
COMMENT ON COLUMN ledger.coins.slip44 IS 'slip44 code of the coin''s chain';
COMMENT ON COLUMN ledger.coins.symbol IS 'Coin symbol code';
COMMENT ON COLUMN ledger.coins.contract_address IS 'Contract address of a token; empty for a main-chain coin';
COMMENT ON COLUMN ledger.coins.name IS 'Display name';
COMMENT ON COLUMN ledger.coins.decimals IS 'Number of decimals (decimal)';
COMMENT ON COLUMN ledger.coins.deposit_state IS 'Deposit state as the service says (depositState); its document does not say what the numbers mean';
COMMENT ON COLUMN ledger.coins.withdraw_state IS 'Withdrawal state as the service says (withdrawState)';
COMMENT ON COLUMN ledger.coins.is_listed IS 'False once the service stopped listing this coin';
COMMENT ON COLUMN ledger.coins.observed_at IS 'When the answer that last changed the row was stored';
COMMENT ON COLUMN ledger.coins.changed_at IS 'When a value of the row last changed, first sight included';
COMMENT ON COLUMN ledger.coins.observation IS 'Number of the request whose answer last wrote the row';
--> statement-breakpoint
COMMENT ON TABLE ledger.addresses IS 'Deposit addresses per chain';
COMMENT ON COLUMN ledger.addresses.slip44 IS 'slip44 code of the chain';
COMMENT ON COLUMN ledger.addresses.address IS 'The address, byte for byte';
COMMENT ON COLUMN ledger.addresses.status IS 'available: ours to hand out; assigned: handed out; used: has received a deposit; foreign: listed by the service but not generated here, so never handed out';
COMMENT ON COLUMN ledger.addresses.assigned_to IS 'Reference given when the address was handed out';
COMMENT ON COLUMN ledger.addresses.assigned_at IS 'When the address was handed out';
COMMENT ON COLUMN ledger.addresses.first_deposit_order_no IS 'The deposit that made the address used';
COMMENT ON COLUMN ledger.addresses.generated_by IS 'The address_requests row that brought it; null when it was only found in the service''s list';
COMMENT ON COLUMN ledger.addresses.first_seen_at IS 'When the ledger first saw the address';
--> statement-breakpoint
COMMENT ON TABLE ledger.address_requests IS 'Every request for new addresses, recorded before it is sent';
COMMENT ON COLUMN ledger.address_requests.id IS 'Ever increasing';
COMMENT ON COLUMN ledger.address_requests.slip44 IS 'slip44 code of the chain';
COMMENT ON COLUMN ledger.address_requests.num IS 'Addresses asked for';
COMMENT ON COLUMN ledger.address_requests.state IS 'sent: under way; done: addresses received; failed: refused by the service; unknown: the answer was lost';
COMMENT ON COLUMN ledger.address_requests.requested_at IS 'When the request was recorded';
COMMENT ON COLUMN ledger.address_requests.finished_at IS 'When the outcome was known';
COMMENT ON COLUMN ledger.address_requests.received IS 'Addresses that the request brought';
COMMENT ON COLUMN ledger.address_requests.error IS 'The service''s own words when refused, or what ended the request';
--> statement-breakpoint
COMMENT ON TABLE ledger.streams IS 'What is kept in step with the service, and the proof that it is: equal counts after a complete walk';
COMMENT ON COLUMN ledger.streams.name IS 'deposit, withdraw or addresses:<slip44>';
COMMENT ON COLUMN ledger.streams.list_order IS 'Order of the service''s list as set or learned: newest-first, oldest-first or unordered; null while unknown';
COMMENT ON COLUMN ledger.streams.page_size IS 'Items per page that the service really serves';
COMMENT ON COLUMN ledger.streams.service_total IS 'Items in the list as the service last counted them (totalSize)';
COMMENT ON COLUMN ledger.streams.ledger_count IS 'Listed items in the ledger, counted in the transaction that writes them';
COMMENT ON COLUMN ledger.streams.is_complete IS 'True when a complete walk has been made and the two counts are equal';
COMMENT ON COLUMN ledger.streams.last_walk_at IS 'When the list was last read from end to end';
COMMENT ON COLUMN ledger.streams.checkpoint IS 'Where an unfinished walk goes on, and what the last complete one vouches for';
COMMENT ON COLUMN ledger.streams.last_success_at IS 'When a pass last ended without an error';
COMMENT ON COLUMN ledger.streams.last_error IS 'Message of the last pass that failed; null after a success';
COMMENT ON COLUMN ledger.streams.last_error_at IS 'When that was';
COMMENT ON COLUMN ledger.streams.lease_owner IS 'The process that is reading the list now; saves requests, correctness does not need it';
COMMENT ON COLUMN ledger.streams.lease_until IS 'Until when its lease runs';
--> statement-breakpoint
COMMENT ON TABLE ledger.rejects IS 'What could not be decoded, one row per cause and payload';
COMMENT ON COLUMN ledger.rejects.id IS 'Ever increasing';
COMMENT ON COLUMN ledger.rejects.source IS 'The answer it came in: transaction-list, transaction-detail, address-list, coin-list or balance-list';
COMMENT ON COLUMN ledger.rejects.order_no IS 'The order, where it had a usable one';
COMMENT ON COLUMN ledger.rejects.field IS 'The service''s name of the field; null when the whole row could not be stored';
COMMENT ON COLUMN ledger.rejects.reason IS 'What was wrong';
COMMENT ON COLUMN ledger.rejects.payload IS 'The row as it came, JSON text';
COMMENT ON COLUMN ledger.rejects.fingerprint IS 'Digest of source, order, field, reason and payload';
COMMENT ON COLUMN ledger.rejects.first_seen_at IS 'When it was first seen';
COMMENT ON COLUMN ledger.rejects.last_seen_at IS 'When it was last counted; counted at most once an hour';
COMMENT ON COLUMN ledger.rejects.times IS 'How often it was counted';
COMMENT ON COLUMN ledger.rejects.resolved_at IS 'When a later answer or another attempt at decoding settled it';
--> statement-breakpoint
COMMENT ON TABLE ledger.sync_runs IS 'One row per finished pass of a job or command';
COMMENT ON COLUMN ledger.sync_runs.id IS 'Ever increasing';
COMMENT ON COLUMN ledger.sync_runs.job IS 'What was kept in step: transactions, details, balances, coins, addresses, pools';
COMMENT ON COLUMN ledger.sync_runs.started_at IS 'When the pass began';
COMMENT ON COLUMN ledger.sync_runs.finished_at IS 'When it ended';
COMMENT ON COLUMN ledger.sync_runs.outcome IS 'done, incomplete, interrupted or failed';
COMMENT ON COLUMN ledger.sync_runs.requests IS 'Requests sent to the service';
COMMENT ON COLUMN ledger.sync_runs.rows_seen IS 'Rows in the answers';
COMMENT ON COLUMN ledger.sync_runs.rows_inserted IS 'Rows new to the ledger';
COMMENT ON COLUMN ledger.sync_runs.rows_updated IS 'Rows that changed';
COMMENT ON COLUMN ledger.sync_runs.error IS 'Message when failed';
--> statement-breakpoint
COMMENT ON TABLE ledger.request_tickets IS 'One row: the request budget, the nonce and the pause, shared by all processes';
COMMENT ON COLUMN ledger.request_tickets.id IS 'Always 1';
COMMENT ON COLUMN ledger.request_tickets.last_nonce IS 'The last nonce given out';
COMMENT ON COLUMN ledger.request_tickets.next_slot_at IS 'The moment from which the next request may go: behind the budget and any pause';
