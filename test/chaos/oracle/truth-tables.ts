/** Schema `oracle`: the present truth and every earlier one. Decimals are text with the digits that were sent. */
export const truthTables = `
drop schema if exists oracle cascade;
create schema oracle;

-- The present truth. Of odd rows: what of it can be stored.
create table oracle.transactions (
  order_no text primary key, stream text not null, request_id text, symbol text, tx_hash text, from_address text,
  to_address text, amount text, state text, confirm_num integer, fee text, fee_symbol text, time_ms bigint,
  is_final boolean not null, extra text, is_odd boolean not null
);

-- Every version that an order ever had, in order; odd rows have none, they never change.
create table oracle.transaction_states (
  order_no text not null, version integer not null, moment integer, at_ms bigint not null, state text,
  confirm_num integer, amount text, tx_hash text, to_address text, fee text, fee_symbol text,
  primary key (order_no, version)
);

-- The calls that changed the truth. Spanned: the later of two requests was answered before it, the earlier one
-- after it, so that a ledger which goes by the order of requests may have gone back.
create table oracle.moments (id integer primary key, at_ms bigint not null, is_spanned boolean not null);

create table oracle.odd_rows (order_no text primary key, kind text not null, field text not null, stored text);

create table oracle.coins (
  slip44 integer, symbol text, contract_address text, name text, decimals integer, deposit_state integer,
  withdraw_state integer, primary key (slip44, symbol, contract_address)
);

create table oracle.balances (
  slip44 integer, symbol text, contract_address text, name text, decimals integer, balance text, frozen text,
  primary key (slip44, symbol, contract_address)
);

create table oracle.balance_versions (
  slip44 integer, symbol text, contract_address text, version integer, moment integer, at_ms bigint, balance text,
  frozen text, is_last boolean, primary key (slip44, symbol, contract_address, version)
);

-- request_serial null: there before the program, somebody else's.
create table oracle.addresses (
  slip44 integer, address text, request_serial bigint, generated_at_ms bigint, primary key (slip44, address)
);

-- Requests to generate and readings of the list have one order, seq.
create table oracle.address_posts (
  serial bigint primary key, slip44 integer not null, num integer not null, received_seq bigint not null,
  received_at_ms bigint not null, finished_seq bigint, finished_at_ms bigint, generated integer not null,
  is_answer_lost boolean not null
);
create table oracle.address_list_reads (
  seq bigint primary key, slip44 integer not null, at_ms bigint not null, page integer not null,
  shows_newest boolean not null
);

create table oracle.calls (
  received bigint, accepted bigint, bad_signatures bigint, reused_nonces bigint, bad_nonces bigint,
  max_in_10s bigint
);
`;

/** The versions of each changed order field by field: neighbours differ, empty fields are left out. */
export const fieldVersions = `
create table oracle.field_versions as
select order_no, field, version, value
  from (select s.order_no, s.version, f.field, f.value,
               lag(f.value) over (partition by s.order_no, f.field order by s.version) as before
          from oracle.transaction_states s
         cross join lateral (values
           ('state', s.state), ('tx_hash', s.tx_hash), ('to_address', s.to_address),
           ('amount', s.amount::numeric::text), ('fee', s.fee::numeric::text), ('fee_symbol', s.fee_symbol),
           ('confirm_num', s.confirm_num::text)) as f (field, value)
         where s.order_no in (select order_no from oracle.transaction_states where version > 0)) v
 where value is not null and value is distinct from before;
create index on oracle.field_versions (order_no, field, value, version);
`;
