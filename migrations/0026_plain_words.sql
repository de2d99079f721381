-- Wording only: the comments that docs/tables.md shows, and the texts of problems, moves and unexplained differences.
comment on table ledger.address_conflicts is 'Addresses that an earlier version handed out more than once: in two spellings, or on two chains for two references. One row per holder; delete the rows when the conflict is resolved';
comment on column ledger.address_conflicts.address_key is 'The same key for all spellings of the address';
comment on column ledger.address_conflicts.assigned_to is 'Reference for which the address was handed out; null when there was none';
comment on column ledger.address_conflicts.noticed_at is 'When the program found the conflict';
comment on column ledger.address_requests.id is 'Increasing number of the request';
comment on column ledger.address_requests.num is 'Number of addresses requested';
comment on column ledger.address_requests.state is 'sent: no answer yet; done: addresses received; failed: refused by the service; unknown: the answer was lost';
comment on column ledger.address_requests.finished_at is 'When the outcome became known';
comment on column ledger.address_requests.received is 'Number of addresses that this request added to the pool';
comment on column ledger.address_requests.error is 'Why the request failed: message of the service if it refused, or the error that ended the request';
comment on column ledger.address_requests.owner is 'Name of the process that sent it, which is also the name of its database connections';
comment on column ledger.address_requests.list_read_at is 'When the address list was first read to its end after the answer was lost';
comment on column ledger.address_requests.epoch is 'Number of moves of the database before the request (engine.home). An answer to a request of an earlier epoch adds nothing to the pool';
comment on column ledger.address_requests.lost_at is 'When the process stopped waiting for the answer; null if the answer arrived';
comment on column ledger.address_requests.answer is 'Addresses of an answer that are not used until the address list is shown to honour the chain parameter';
comment on column ledger.addresses.status is 'available: can be handed out; assigned: handed out, here or on another chain; used: has a deposit in a success state; foreign: never handed out, because nothing proves that this ledger generated it, or because it has a deposit in another state and was never assigned';
comment on column ledger.addresses.assigned_to is 'Reference for which the address was handed out, on this chain or on another chain that has it; no other reference gets the address on any chain';
comment on column ledger.addresses.generated_by is 'The address_requests row that returned it; null when only the service''s list showed it';
comment on column ledger.addresses.set_aside_epoch is 'Epoch in which the address became foreign because the database had moved (`wallet-ledger recover`); null otherwise';
comment on column ledger.addresses.address_key is 'The same key for all spellings of the address (ledger.address_key)';
comment on column ledger.addresses.assigned_no is 'Number of the address among those of the reference on this chain: take_address returns number 1; null when the reference did not ask for it on this chain';
comment on column ledger.addresses.first_deposit_at is 'Time of the deposit in first_deposit_order_no (occurred_at)';
comment on column ledger.addresses.listed_as is 'Spellings in which the service''s list showed the address; each is one item of the list. Empty: not listed yet';
comment on column ledger.addresses.unchecked_until is 'Internal: transactions below this number may not have seen the new address; null after all of them ended and the deposits of the address were searched';
comment on column ledger.addresses.form is 'Result of the format check. proven: the checksum is right; plain: alphabet and length are right, and the format has no checksum; strange: another format, as all addresses of the chain so far; misfit: another format, and listed before the list was shown to honour the chain parameter (checked again before it can become available); other: the program does not know the chain''s format; null: refused, or not checked yet';
comment on column ledger.addresses.refused is 'Why the text is not a valid address of the chain: it is never available and never handed out; null for valid addresses';
comment on column ledger.addresses.assigned_xact is 'Internal: number of the transaction that took the address, for the quota of issuers';
comment on column ledger.balance_changes.id is 'Increasing number of the change';
comment on table ledger.balances is 'Current balance of the wallet per coin, as last reported by the service';
comment on column ledger.balances.is_listed is 'False since the service no longer lists this balance';
comment on column ledger.balances.observation is 'Number of the request whose answer last wrote the row; an answer with a lower number never overwrites it';
comment on column ledger.coin_changes.id is 'Increasing number of the change';
comment on column ledger.coin_changes.is_listed is 'True if the service listed the coin from this moment on';
comment on table ledger.coins is 'The coins that the wallet supports';
comment on column ledger.coins.is_listed is 'False since the service no longer lists this coin';
comment on column ledger.coins.observation is 'Number of the request whose answer last wrote the row; an answer with a lower number never overwrites it';
comment on table ledger.coverage is 'Per list and UTC day: number of listed rows in the ledger, and when the service last listed exactly these rows';
comment on column ledger.coverage.transactions is 'Number of listed rows of that day in the ledger; exact at every commit';
comment on column ledger.coverage.verified_at is 'When the service last listed exactly the rows that the ledger has for that day; null if it never did, or if the day''s rows were changed since by anything except a reading of the list';
comment on table ledger.final_states is 'Final states by WALLET_FINAL_STATES, as of the last time that the rows were classified';
comment on column ledger.final_states.is_success is 'True if a transaction in this state moved money (WALLET_SUCCESS_STATES)';
comment on table ledger.pools is 'Configured address pools (ADDRESS_POOLS) and the state of filling each';
comment on column ledger.pools.threshold is 'Number of available addresses below which the pool is filled';
comment on column ledger.pools.target is 'Number of available addresses up to which the pool is filled';
comment on column ledger.pools.is_filling is 'True from falling below the threshold until the target is reached';
comment on column ledger.pools.refusals is 'Number of consecutive requests that the service refused';
comment on column ledger.pools.next_try_at is 'Earliest time of the next request after a refusal; null when there is no wait';
comment on column ledger.pools.num_max is 'Maximum number of addresses per request; halved when the service refuses the number or an answer is lost, doubled when a request is granted in full';
comment on column ledger.pools.last_error is 'Why the pool could not be filled; the message of the service if it refused; null after a success';
comment on column ledger.pools.last_error_at is 'When last_error occurred';
comment on column ledger.pools.losses is 'Number of consecutive lost answers; each doubles the wait before the address list is trusted (POOL_SETTLE)';
comment on column ledger.pools.chain_filter is 'works: the address list was shown to honour the chain parameter; broken: it lists the same addresses for a chain that does not exist, so nothing is generated or handed out; null: not known yet';
comment on column ledger.pools.chain_param is 'Name of the chain parameter for which chain_filter was found (WALLET_PARAM_NAMES)';
comment on column ledger.pools.chain_filter_at is 'When chain_filter was found';
comment on column ledger.pools.refused_at is 'When the service first sent a text that is not a valid address of the chain; nothing is generated until `wallet-ledger pool refill <slip44> --resume`';
comment on table ledger.reconciliation_runs is 'Results of reconciliation (slip44 is null) and asset_reconciliation: one row per change of a difference, written when balances are read';
comment on column ledger.reconciliation_runs.id is 'Increasing number of the result';
comment on column ledger.reconciliation_runs.observed_at is 'When the difference first had this value';
comment on column ledger.reconciliation_runs.expected is 'Deposits minus withdrawals minus fees at that time, in units of the coin';
comment on column ledger.reconciliation_runs.reported is 'Sum of the balances at that time, in units of the coin';
comment on column ledger.reconciliation_runs.difference is 'reported minus expected, in units of the coin';
comment on column ledger.reconciliation_runs.is_explained is 'True if the difference is 0 or can be caused by transactions and values that are still open; updated while the difference stays the same';
comment on column ledger.reconciliation_runs.explanation is 'Why the difference is explained or not, by the latest check; null when the difference is 0 or nothing is open';
comment on column ledger.reconciliation_runs.last_order_no is 'Newest transaction of the coin at that time, by occurred_at (orderNo); null when there was none';
comment on column ledger.reconciliation_runs.unexplained_since is 'Time since when every difference of this coin or asset has been unexplained; null when this one is explained';
comment on table ledger.rejects is 'Values that could not be decoded or stored, one row per cause';
comment on column ledger.rejects.id is 'Increasing number of the reject; the ID of `wallet-ledger rejects retry`';
comment on column ledger.rejects.source is 'Kind of answer that contained it: transaction-list, transaction-detail, address-list, coin-list or balance-list';
comment on column ledger.rejects.order_no is 'Order number of the row; null when the row has none that can be used';
comment on column ledger.rejects.reason is 'Why the value was rejected';
comment on column ledger.rejects.fingerprint is 'Identifies the cause: hash of source, order and field; for rows without an order number, hash of the fields that stay the same, or of the payload';
comment on column ledger.rejects.first_seen_at is 'When the cause was first seen';
comment on column ledger.rejects.last_seen_at is 'When the cause was last counted; at most once an hour';
comment on column ledger.rejects.times is 'How often the cause was counted';
comment on column ledger.rejects.resolved_at is 'When a later answer contained a valid value, or decoding again succeeded; null while the reject is open';
comment on table ledger.request_tickets is 'One row with the request budget, the nonce and the pause, shared by all processes';
comment on column ledger.request_tickets.last_nonce is 'Last nonce that was issued';
comment on column ledger.request_tickets.next_slot_at is 'Earliest time of the next request within the request budget';
comment on column ledger.request_tickets.slot_seconds is 'Distance between the latest issued slots, in seconds';
comment on column ledger.request_tickets.paused_until is 'No request is sent before this time, because the service asked for a pause';
comment on column ledger.request_tickets.asked_at is 'When tickets or a pause were last requested; shows a clock that was set back';
comment on column ledger.request_tickets.nonce_ceiling is 'No nonce above this number is issued before the number has been raised and flushed to disk';
comment on column ledger.request_tickets.observation_ceiling is 'No observation number above this one is issued before it has been raised and flushed to disk';
comment on table ledger.scan_notes is 'Internal: keys that the current full scan of a list has seen';
comment on column ledger.stream_proofs.id is 'Increasing number of the change';
comment on column ledger.stream_proofs.is_complete is 'True if the list was proven complete from then on';
comment on column ledger.stream_proofs.service_total is 'Total of the service at that time';
comment on column ledger.stream_proofs.ledger_count is 'Number of listed rows in the ledger at that time';
comment on column ledger.stream_proofs.reason is 'Why the list was not complete; null where it was';
comment on table ledger.streams is 'Lists of the service that the ledger copies, each with the proof that the copy is complete';
comment on column ledger.streams.list_order is 'Order of the service''s list, as configured or learned: newest-first, oldest-first or unordered; null while unknown';
comment on column ledger.streams.page_size is 'Number of items per page that the service returns';
comment on column ledger.streams.service_total is 'Number of items in the list according to the service''s last answer (totalSize)';
comment on column ledger.streams.ledger_count is 'Number of listed items in the ledger, updated in the transaction that writes them';
comment on column ledger.streams.last_walk_at is 'When the last clean full scan of the list ended';
comment on column ledger.streams.checkpoint is 'Internal: where reading of the list continues';
comment on column ledger.streams.last_error_at is 'When last_error occurred';
comment on column ledger.streams.lease_owner is 'Process that is reading the list now; avoids duplicate requests and is not needed for correctness';
comment on column ledger.streams.lease_until is 'When the lease of lease_owner ends';
comment on column ledger.streams.final_changes is 'How often a transaction changed from a final state to another state, see state_transitions';
comment on column ledger.streams.is_backed is 'True if a clean full scan confirmed the counts';
comment on column ledger.streams.accepted_difference is 'service_total minus ledger_count after the last clean full scan: rows that the service counts but does not list, or that cannot be stored';
comment on column ledger.streams.doubt is 'Observation that equal counts do not explain; null when there is none. A clean full scan resets it';
comment on column ledger.streams.conflicts is 'Number of rows that both this list and another one show, see transactions.also_listed_in';
comment on column ledger.streams.is_complete is 'True if the ledger provably lists exactly what the service lists: a clean full scan confirmed it, the counts are equal, and there is no unexplained observation. Computed by the database';
comment on column ledger.streams.not_complete_because is 'Why is_complete is false; null while it is true';
comment on column ledger.streams.verified_through is 'Oldest coverage.verified_at of the list''s days: every row was compared with the service at this time or later. Null while a day was never verified, and for lists without times';
comment on column ledger.streams.passes is 'Internal: number of passes over the list so far';
comment on column ledger.streams.count_at_last_pass is 'Internal: ledger_count when a pass last stored rows of the list';
comment on column ledger.sync_runs.id is 'Increasing number of the pass';
comment on column ledger.sync_runs.job is 'Task of the pass: transactions, details, balances, coins, addresses, pools or audit';
comment on column ledger.sync_runs.requests is 'Number of requests sent to the service';
comment on column ledger.sync_runs.rows_seen is 'Number of rows in the answers';
comment on column ledger.sync_runs.rows_inserted is 'Number of rows that were new to the ledger';
comment on column ledger.sync_runs.rows_updated is 'Number of rows that changed';
comment on column ledger.sync_runs.error is 'Error message if the pass failed';
comment on table ledger.transaction_changes is 'One row per changed field of a transaction; is_listed counts as a field. Not recorded: the first sight of a transaction, fields that the first detail fills, and a rising confirm_num';
comment on column ledger.transaction_changes.id is 'Increasing number of the change';
comment on column ledger.transaction_changes.order_no is 'Order number of the transaction';
comment on table ledger.transactions is 'Every deposit and withdrawal that the service has listed, one row per order; never deleted';
comment on column ledger.transactions.stream is 'List in which the row is counted: deposit or withdraw. Follows type; for another type, the list that showed the row';
comment on column ledger.transactions.is_final is 'True if WALLET_FINAL_STATES contains the state: no further change is expected';
comment on column ledger.transactions.is_listed is 'False since a full scan no longer found the row in the service''s list';
comment on column ledger.transactions.next_check_at is 'When the detail is to be fetched next; null when nothing is left to fetch. A worker that fetches it sets a time shortly ahead';
comment on column ledger.transactions.observation is 'Number of the request whose answer last wrote the row; an answer with a lower number never overwrites it';
comment on column ledger.transactions.extra is 'Fields of the service''s payload that its document does not name; usually null';
comment on column ledger.transactions.seal is 'Hash of the row''s values when its detail was stored. It shows changes that were made outside the program, such as a manual update, a script or a partial restore. It does not protect against an attacker: a role that can write the row can also store the matching hash (ledger.seal). Null before the first detail, and while a change from the list waits for its detail';
comment on column ledger.transactions.also_listed_in is 'The other list, while it shows the row as well; usually null. Neither list is proven complete while a row is in both';
comment on column ledger.transactions.first_detail_at is 'When the first detail was stored; null before that, and for rows whose first detail was stored by an earlier version';
comment on column ledger.transactions.first_detail_filled is 'Internal: fields other than confirm_num, fee and fee_symbol that were empty until the first detail; usually null';
comment on column ledger.transactions.list_word is 'Internal: last values from the service''s list for fields that now have another value; usually null; "unknown" for rows of an earlier version';
comment on column ledger.transactions.detail_word is 'Internal: last values from the service''s detail for fields that now have another value; usually null; "unknown" for rows of an earlier version';
comment on column ledger.transactions.is_backfilled is 'True if the row was in the history before the list was first read to its end. For rows of an earlier version: true if it was first seen more than a day after its time';
comment on table ledger.wallets is 'The wallet whose history the ledger keeps; settings of another wallet are refused';
comment on view ledger.asset_reconciliation is 'Per asset (slip44, symbol, contract_address): compares the sum of the listed transactions whose chain is known with the balance';
comment on column ledger.asset_reconciliation.expected is 'deposits minus withdrawals minus fees';
comment on column ledger.asset_reconciliation.difference is 'reported minus expected';
comment on column ledger.asset_reconciliation.is_explained is 'True if difference is 0, or not more than the open amounts of the coin and its rows of an unknown chain can cause';
comment on column ledger.asset_reconciliation.explanation is 'What can cause the difference, or why it cannot; null when difference is 0 or nothing is open';
comment on column ledger.asset_reconciliation.open_amount is 'Upper bound of the amount that open transactions and values of the coin can move, over all chains; null when no bound is known';
comment on column ledger.asset_reconciliation.unassigned is 'Deposits minus withdrawals minus fees of the coin''s rows whose chain is not known; the same value for each asset of the symbol';
comment on view ledger.balance_history is 'Each balance with the period in which it was valid, as the ledger saw it';
comment on column ledger.balance_history.valid_from is 'When the ledger first saw this balance';
comment on column ledger.balance_history.valid_to is 'When the ledger saw the next balance; null for the current one';
comment on view ledger.daily_flows is 'Count and sums of the listed transactions per UTC day, coin, type and state';
comment on column ledger.daily_flows.state is 'State as the service says (state); final_states.is_success shows the states that moved money';
comment on view ledger.pending_transactions is 'Listed transactions that are not in a final state (WALLET_FINAL_STATES), with their age';
comment on column ledger.pending_transactions.next_check_at is 'When the detail is to be fetched next';
comment on column ledger.pending_transactions.extra is 'Fields of the service''s payload that its document does not name; usually null';
comment on column ledger.pending_transactions.age is 'Time since the transaction (occurred_at), or since first_seen_at if occurred_at is null';
comment on column ledger.pending_transactions.is_backfilled is 'True if the row was in the history before the list was first read to its end';
comment on view ledger.pool_levels is 'Number of addresses in the pool of each chain, and how long they will last';
comment on column ledger.pool_levels.assigned is 'Addresses that were handed out and have no deposit yet';
comment on column ledger.pool_levels.threshold is 'Number of available addresses below which the pool is filled; null where no pool is configured';
comment on column ledger.pool_levels.target is 'Number of available addresses up to which the pool is filled; null where no pool is configured';
comment on column ledger.pool_levels.generated_24h is 'Addresses that requests of the last 24 hours returned or may have generated, including requests that are open or whose answer was lost; POOL_MAX_PER_DAY limits this number';
comment on column ledger.pool_levels.days_left is 'available divided by the addresses handed out per day over the last 7 days; null when none were handed out';
comment on column ledger.pool_levels.foreign_addresses is 'Addresses that the service lists and that nothing proves to be generated by this ledger; never handed out';
comment on view ledger.problems is 'Problems that need a person, ordered by severity and age; empty when there are none. Problems of the queue are only in `wallet-ledger status` and on the status page';
comment on column ledger.problems.severity is 'critical: act now; warning: can wait for working hours';
comment on column ledger.problems.since is 'Since when the problem exists; null where that is not known';
comment on column ledger.problems.what is 'Description of the problem; may quote the service; one line of at most 300 characters of quoted text';
comment on column ledger.problems.cure is 'What to do about the problem';
comment on view ledger.reconciliation is 'Per coin over all chains: compares the sum of the listed transactions with the balances that the service reports';
comment on column ledger.reconciliation.expected is 'deposits minus withdrawals minus fees';
comment on column ledger.reconciliation.difference is 'reported minus expected';
comment on column ledger.reconciliation.is_explained is 'True if difference is 0, or not more than open_amount and not a difference that stays the same while open transactions come and go';
comment on column ledger.reconciliation.explanation is 'What is open, with the numbers of transactions or values, or why that cannot cause the difference; null when difference is 0 or nothing is open';
comment on column ledger.reconciliation.open_amount is 'Upper bound of the amount that can still move: transactions that are not final, unknown fees, rejects, and movements while the balances were read; null when no bound is known';
comment on view ledger.state_transitions is 'Changes from one state to another, with the number of transactions: shows if WALLET_FINAL_STATES is right';
comment on column ledger.state_transitions.to_state is 'State after. A state that began and ended between two readings is not seen';
comment on column ledger.state_transitions.transactions is 'Number of changes from from_state to to_state; a transaction that made the same change twice counts twice';
comment on column ledger.state_transitions.first_seen_at is 'When the ledger first saw this change of state';
comment on column ledger.state_transitions.last_seen_at is 'When the ledger last saw this change of state';
comment on column ledger.state_transitions.is_final_setting is 'True if WALLET_FINAL_STATES contains from_state: a state that was configured as final did change';
comment on view ledger.sync_health is 'Completeness and age of the copy of each list';
comment on column ledger.sync_health.is_complete is 'True if the ledger provably lists exactly what the service lists';
comment on column ledger.sync_health.service_total is 'Number of items according to the service''s last answer (totalSize); null before the first answer';
comment on column ledger.sync_health.lag_seconds is 'Whole seconds since last_success_at; null when the list has never been read without an error';
comment on column ledger.sync_health.last_success_at is 'When a pass over the list last ended without an error; null when none did';
comment on column ledger.sync_health.last_error is 'Why the latest pass failed, first line; null when it succeeded';
comment on column ledger.sync_health.not_complete_because is 'Why is_complete is false; null while it is true';
comment on view ledger.unexpected_deposits is 'Listed deposits of the last 7 days, at most the latest 2,000, to addresses that this ledger neither generated nor handed out';
comment on column ledger.unexpected_deposits.kind is 'foreign: an address list of the service contains the address; unknown: no address list that was read contains it';
comment on column ledger.unexpected_deposits.is_suspicious is 'True if a person should check it: a foreign address that appeared after its list was first proven complete, or an unknown address although the address lists of all chains of the coin were read';
comment on view ledger.unexplained_differences is 'Differences between balances and transactions that open transactions and values cannot cause, as of the last reading of the balances';
comment on column ledger.unexplained_differences.amount is 'reported minus expected, in units of the coin';
comment on column ledger.unexplained_differences.since is 'Time since when the difference has been unexplained';
comment on column ledger.unexplained_differences.explanation is 'What is open, and why it cannot cause the difference; null when nothing is open';
comment on function ledger.address_key(text) is 'Returns the same key for all spellings of an address: hexadecimal digits in either case, with 0x or without; texts in one case; cashaddr with or without its prefix. A text of both cases is its own key';
comment on function ledger.balances_at(timestamptz) is 'Balances as the ledger knew them at that time. balance, frozen and is_listed are of that time, and changed_at is when they got these values; names and decimals are the current ones';
comment on function ledger.count_truncated() is 'Keeps streams.ledger_count and coverage when the table is truncated';
comment on function ledger.is_paid_exactly(text, numeric, numeric, timestamptz) is 'True if transactions that are open, or have changed since moved_since, add up exactly to this amount of the coin, within a tolerance for unknown fees';
comment on function ledger.listed_at(timestamptz, jsonb) is 'Time of a row according to the service''s list, by which the list is ordered';
comment on function ledger.note_new_day() is 'Marks a new day, and so its list, as not verified yet';
comment on function ledger.note_proof() is 'Writes a row of stream_proofs when is_complete has changed in the transaction';
comment on function ledger.note_verified_through() is 'Keeps streams.verified_through when coverage.verified_at changes';
comment on function ledger.pause_requests(double precision) is 'Delays the requests of all processes by pause_ms milliseconds';
comment on function ledger.reconcile(timestamptz) is 'Rows of the view reconciliation for balances that were read at balances_read_at; null: never read';
comment on function ledger.reconcile_assets(timestamptz) is 'Rows of the view asset_reconciliation for balances that were read at balances_read_at; null: never read';
comment on function ledger.set_stream_by_type() is 'Sets transactions.stream by type if an insert does not give it';
comment on function ledger.standing_difference(text, integer, text, numeric, numeric, timestamptz, timestamptz) is 'Why a difference that reconciliation_runs already has is not explained by what is open now; null if it may be explained';
comment on function ledger.take_address(integer, text) is 'Hands out an available address of the chain and returns it. One address is never given to two callers, on any chain and in any spelling. The same reference gets the same address again; with reference null, each call gets another address. Returns null when the pool is empty. An empty reference, and a chain without pool and addresses, raise an error';
comment on function ledger.take_address(text, integer, text) is 'As take_address(slip44, reference), for a named wallet; the only wallet is main';
comment on function ledger.take_further_address(integer, text) is 'Hands out one more address for the reference with each call; take_address keeps returning the first one. Returns null when the pool is empty';
comment on function ledger.take_further_address(text, integer, text) is 'As take_further_address(slip44, reference), for a named wallet; the only wallet is main';
comment on function ledger.take_tickets(integer, double precision, text) is 'Permits n requests to the service. Returns for each its observation number, its nonce, the milliseconds to wait (negative: the slot has passed) and the database''s time in Unix milliseconds, in one order for all processes';
comment on function ledger.transactions_at(timestamptz) is 'Transactions as the ledger knew them at that time: rows that were first seen by then, each field with its value of that time. is_final follows the current settings. confirm_num may be a later value, because rising confirmations are not recorded. For rows of an earlier version, filled fields and a return to the list are not known';
comment on function ledger.trimmed_address_key(text) is 'Internal: part of ledger.address_key, for addresses with a space or a colon';
comment on table engine.home is 'One row that records where the database runs; it no longer matches after a restore, a copy or a promotion';
comment on column engine.home.disturbed_by is 'Other evidence that the database was restored; null while there is none';
comment on column engine.home.epoch is 'Number of the database''s home; each move begins the next epoch';
comment on column engine.home.own_xid is 'Transaction that wrote this row; equals its xmin until the row is written again';
comment on view engine.home_problem is 'The problem database_moved of ledger.problems, while it exists';
comment on table engine.merged_addresses is 'Rows of an earlier version for other spellings of an address, as they were before they were merged';
comment on column engine.merged_addresses.address_key is 'Key of the row in ledger.addresses that replaces this one';
comment on table engine.moves is 'Moves of the database that were detected, one row each';
comment on column engine.moves.closed_requests is 'Number of open address requests that were closed';
comment on column engine.moves.epoch is 'Epoch of engine.home that ended with the move';
comment on column engine.moves.healed_at is 'When the next epoch began; until then it is null and no address is handed out';
comment on column engine.moves.noticed_at is 'When a process detected the move';
comment on column engine.moves.set_aside is 'Number of available addresses that became foreign';
comment on column engine.moves.what is 'Evidence of the move';
comment on table engine.null_takes is 'Calls of take_address that returned null although addresses were available; kept for an hour';
comment on column engine.null_takes.taken_at is 'Time of the call';
comment on table engine.snapshots is 'Number of the answer that was last stored for each table that one answer replaces as a whole';
comment on column engine.snapshots.observation is 'Highest request number among the stored answers, including unchanged ones; an answer with a lower number is ignored';
comment on table engine.ticket_witness is 'Unlogged: its row shows that ticket numbers were issued without a gap since the last start';
comment on column engine.ticket_witness.own_xid is 'Transaction that wrote the row; equals its xmin until the row is written again';
comment on function engine.bound_idle_time() is 'Ends the calling transaction after one idle minute, because no other caller gets the addresses that it has taken';
comment on function engine.current_epoch() is 'Current epoch of engine.home';
comment on function engine.disturb_home(text) is 'Declares a move that the database cannot detect, such as a disk snapshot that was put back';
comment on function engine.home_facts() is 'Facts that identify where the database runs; null: hidden by the server';
comment on function engine.home_state() is 'Difference between the database and its recorded home; null if there is none';
comment on function engine.note_null_take(integer) is 'Records that take_address returned null while addresses were available';
comment on function engine.notice_emptying() is 'Trigger: deleted addresses indicate that other rows are about to be loaded';
comment on function engine.notice_foreign(integer) is 'POOL_EXCLUSIVE: treats an address that this ledger did not generate as evidence of a move';
comment on function engine.require_quota(integer) is 'Fails when the transaction has taken as many addresses of the chain as an issuer may hold: half of the pool''s target, at least 10 and at most 100';
comment on function engine.settle_rights() is 'Revokes the functions of ledger and engine from PUBLIC; grants reading ones to roles that may read ledger.transactions, and internal ones to roles that may write it';
--> statement-breakpoint
DO $words$
DECLARE
  definition text := pg_get_viewdef('ledger.problems'::regclass);
  part record;
BEGIN
  FOR part IN SELECT * FROM (VALUES
      ($t$see that `wallet-ledger start` runs$t$, $t$check that `wallet-ledger start` runs$t$),
      ($t$the next passes look again; `wallet-ledger verify`$t$, $t$wait: the next passes search for the difference; `wallet-ledger verify`$t$),
      ($t$ask those who run the service$t$, $t$ask the operator of the service$t$),
      ($t$correct the books that counted them; where it happens often, take the state out of WALLET_FINAL_STATES$t$, $t$correct the books that counted them; if it happens often, remove the state from WALLET_FINAL_STATES$t$),
      ($t$sets it right, otherwise run it with$t$, $t$recovers by itself; otherwise run it with$t$),
      ($t$the ledger is as old as that$t$, $t$the ledger is out of date$t$),
      ($t$its first reading is under way, %s%s rows are in$t$, $t$its first reading has not ended, %s%s rows are stored$t$),
      ($t$went to addresses that were not generated here$t$, $t$went to addresses that this ledger did not generate$t$),
      ($t$ does not heed the chain: asked by $t$, $t$ ignores the chain parameter: with $t$),
      ($t$set WALLET_PARAM_NAMES chain= to the service''s name of the chain parameter$t$, $t$set WALLET_PARAM_NAMES chain= to the service''s name for the chain parameter$t$),
      ($t$an open transaction locks addresses of the pools, which nobody else can take: $t$, $t$an open transaction locks addresses of the pools, so no other caller can take them: $t$),
      ($t$'the service showed '$t$, $t$'the service sent '$t$),
      ($t$ text that is no address$t$, $t$ text that is not a valid address$t$),
      ($t$ texts that are no addresses$t$, $t$ texts that are not valid addresses$t$),
      ($t$ has addresses that are available, and take_address gave none: an open transaction holds them$t$, $t$ has available addresses, but take_address returned null: an open transaction holds them$t$)) AS p (before, after)
  LOOP
    definition := replace(definition, part.before, part.after);
  END LOOP;
  EXECUTE 'CREATE OR REPLACE VIEW ledger.problems AS ' || definition;
END $words$;
--> statement-breakpoint
DO $words$
DECLARE
  definition text := pg_get_functiondef('engine.home_state()'::regprocedure);
  part record;
BEGIN
  FOR part IN SELECT * FROM (VALUES
      ($t$it is a copy: it lies in another database$t$, $t$it is a copy: it is in another database$t$),
      ($t$it was restored: its tables were made anew$t$, $t$it was restored: its tables were created again$t$),
      ($t$it was restored: its rows were written anew$t$, $t$it was restored: its rows were written again$t$),
      ($t$it lies in another cluster of databases$t$, $t$it is in another PostgreSQL cluster$t$),
      ($t$its log goes on along another timeline: $t$, $t$its write-ahead log is on another timeline: $t$)) AS p (before, after)
  LOOP
    definition := replace(definition, part.before, part.after);
  END LOOP;
  EXECUTE definition;
END $words$;
--> statement-breakpoint
DO $words$
DECLARE
  definition text := pg_get_functiondef('engine.require_home()'::regprocedure);
  part record;
BEGIN
  FOR part IN SELECT * FROM (VALUES
      ($t$sets it right within a minute$t$, $t$recovers within a minute$t$)) AS p (before, after)
  LOOP
    definition := replace(definition, part.before, part.after);
  END LOOP;
  EXECUTE definition;
END $words$;
--> statement-breakpoint
DO $words$
DECLARE
  definition text := pg_get_functiondef('ledger.reconcile(timestamptz)'::regprocedure);
  part record;
BEGIN
  FOR part IN SELECT * FROM (VALUES
      ($t$more than what is open can pay for, $t$, $t$more than the open amounts can explain, $t$)) AS p (before, after)
  LOOP
    definition := replace(definition, part.before, part.after);
  END LOOP;
  EXECUTE definition;
END $words$;
--> statement-breakpoint
DO $words$
DECLARE
  definition text := pg_get_functiondef('ledger.standing_difference(text, integer, text, numeric, numeric, timestamptz, timestamptz)'::regprocedure);
  part record;
BEGIN
  FOR part IN SELECT * FROM (VALUES
      ($t$, and nothing that moved makes it up$t$, $t$, and no later movement explains it$t$),
      ($t$has stood since $t$, $t$has been the same since $t$),
      ($t$ UTC, and nothing that is open or moved since makes it up$t$, $t$ UTC, and no open or later movement explains it$t$)) AS p (before, after)
  LOOP
    definition := replace(definition, part.before, part.after);
  END LOOP;
  EXECUTE definition;
END $words$;
