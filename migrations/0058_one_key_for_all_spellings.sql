-- Nothing may be written by the earlier rule while the rows are brought over. Writers lock in this order, too.
LOCK TABLE ledger.transactions, ledger.addresses IN SHARE ROW EXCLUSIVE MODE;
--> statement-breakpoint
CREATE FUNCTION engine.earlier_address_key(address text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
SELECT CASE
  WHEN address ~ '^(0[xX])?[0-9a-fA-F]+$' THEN replace(lower(address COLLATE "C"), '0x', '')
  WHEN address ~ '[\s:]' THEN ledger.trimmed_address_key(address)
  WHEN lower(address COLLATE "C") <> address AND upper(address COLLATE "C") <> address THEN address
  ELSE lower(address COLLATE "C")
END
$$;
--> statement-breakpoint
CREATE FUNCTION ledger.base58_bytes(address text) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
  alphabet CONSTANT text := '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
  leading_zeros CONSTANT integer := length(address) - length(ltrim(address, '1'));
  number numeric := 0;
  chunk bigint;
  hex text := '';
BEGIN
  IF address !~ '^[1-9A-HJ-NP-Za-km-z]+$' THEN RETURN NULL; END IF;
  FOR start IN 1..length(address) BY 10 LOOP
    chunk := 0;
    FOR i IN start..least(start + 9, length(address)) LOOP
      chunk := chunk * 58 + strpos(alphabet, substr(address, i, 1)) - 1;
    END LOOP;
    number := number * 58::numeric ^ least(10, length(address) - start + 1) + chunk;
  END LOOP;
  WHILE number > 0 LOOP
    hex := lpad(to_hex((number % 72057594037927936)::bigint), 14, '0') || hex;
    number := div(number, 72057594037927936);
  END LOOP;
  hex := ltrim(hex, '0');
  RETURN decode(repeat('00', leading_zeros) || repeat('0', length(hex) % 2) || hex, 'hex');
END $$;
--> statement-breakpoint
CREATE FUNCTION ledger.base58check_text(payload bytea) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
  alphabet CONSTANT text := '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
  hex CONSTANT text := encode(payload || substr(sha256(sha256(payload)), 1, 4), 'hex');
  number numeric := 0;
  chunk bigint;
  digits text := '';
BEGIN
  FOR start IN 1..length(hex) BY 14 LOOP
    chunk := ('x' || lpad(substr(hex, start, 14), 16, '0'))::bit(64)::bigint;
    number := number * 16::numeric ^ least(14, length(hex) - start + 1) + chunk;
  END LOOP;
  WHILE number > 0 LOOP
    chunk := number % 430804206899405824;
    number := div(number, 430804206899405824);
    FOR i IN 1..10 LOOP
      digits := substr(alphabet, (chunk % 58)::integer + 1, 1) || digits;
      chunk := chunk / 58;
    END LOOP;
  END LOOP;
  RETURN repeat('1', (length(hex) - length(ltrim(hex, '0'))) / 2) || ltrim(digits, '1');
END $$;
--> statement-breakpoint
-- Adds the words to the checksum of cashaddr (40 bits) or bech32 (30 bits). The table holds what each of the five bits that
-- leave it at the top adds.
CREATE FUNCTION ledger.word_checksum(words bytea, kept_bits integer, additions bigint[]) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
  mask CONSTANT bigint := (1::bigint << kept_bits) - 1;
  checksum bigint := 0;
BEGIN
  FOR i IN 0..length(words) - 1 LOOP
    checksum := ((checksum & mask) << 5) # (get_byte(words, i) & 31) # additions[(checksum >> kept_bits) + 1];
  END LOOP;
  RETURN checksum;
END $$;
--> statement-breakpoint
-- Letter number n of the alphabet becomes the byte 64 + n, so that the last five bits are its value.
CREATE FUNCTION ledger.base32_words(letters text, alphabet text) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
SELECT convert_to(translate(letters, alphabet, '@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\]^_'), 'UTF8')
$$;
--> statement-breakpoint
CREATE FUNCTION ledger.hex_of_words(words bytea) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
  hex text := '';
  chunk bigint;
BEGIN
  FOR start IN 0..length(words) - 8 BY 8 LOOP
    chunk := 0;
    FOR i IN start..start + 7 LOOP
      chunk := (chunk << 5) | (get_byte(words, i) & 31);
    END LOOP;
    hex := hex || lpad(to_hex(chunk), 10, '0');
  END LOOP;
  RETURN hex;
END $$;
--> statement-breakpoint
-- Bitcoin Cash. The key of a hash is its base58 text, which a Bitcoin address has too. The checksum covers the prefix, which
-- the text may lack: each prefix has one value that the letters must give. A P2SH address with 32 bytes (61 letters) has no
-- base58 text; only its first letter says that tokens are welcome.
CREATE FUNCTION ledger.cash_address_key(address text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
  alphabet CONSTANT text := 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
  additions CONSTANT bigint[] := '{0,656907472481,522768456162,967538972547,1044723512260,462998945189,595007253030,79382357063,748107326120,235620756681,925997890378,341105636651,399716405612,849904983821,157430696078,808882357999,130178868336,578713250321,446545427858,1095394063347,1019804932020,504719530453,638984506966,52425474103,757556840152,174270482617,866887507770,348500070747,289368683804,943501032317,253014715646,696227635871}';
  -- bitcoincash, ecash, simpleledger, etoken; bchtest, bchreg, ectest, slptest.
  short_checksums CONSTANT bigint[] := '{330434111985,582099501350,181341973039,1031161159089,448406304013,821597632875,779466716503,779144686416}';
  long_checksums CONSTANT bigint[] := '{253838789348,1015076918766,768407970363,581590131762,150224553046,585704610494,788883694255,729058422569}';
  words CONSTANT bytea := ledger.base32_words(address, alphabet);
  network CONSTANT integer := array_position(CASE length(address) WHEN 42 THEN short_checksums ELSE long_checksums END,
                                             ledger.word_checksum(words, 35, additions));
  hex text;
  last_bits integer;
  is_script boolean;
BEGIN
  IF network IS NULL THEN RETURN address; END IF;
  IF length(address) = 61 THEN
    RETURN CASE WHEN left(address, 1) <> 'r' THEN address ELSE
      'p' || substr(address, 2, 52) || (
        SELECT string_agg(substr(alphabet, ((get_byte(words, 52 + n) & 31) # (639817778987 >> (40 - 5 * n) & 31)::integer) + 1, 1), '' ORDER BY n)
          FROM generate_series(1, 8) AS n) END;
  END IF;
  hex := ledger.hex_of_words(substr(words, 1, 32));
  last_bits := (get_byte(words, 32) & 31) * 32 + (get_byte(words, 33) & 31);
  -- The second digit is the size of the hash, 0 for 20 bytes; the two bits at the end only fill the last letter.
  IF hex !~ '^[01][08]' OR last_bits & 3 <> 0 THEN RETURN address; END IF;
  is_script := substr(hex, 2, 1) = '8';
  RETURN ledger.base58check_text(decode(
    CASE WHEN network <= 4 THEN CASE WHEN is_script THEN '05' ELSE '00' END ELSE CASE WHEN is_script THEN 'c4' ELSE '6f' END END
    || substr(hex, 3) || lpad(to_hex(last_bits >> 2), 2, '0'), 'hex'));
END $$;
--> statement-breakpoint
-- The key of a TON address is its bounceable text of the main network.
CREATE FUNCTION ledger.ton_text(workchain integer, hash bytea) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
  bytes CONSTANT bytea := '\x11'::bytea || decode(lpad(to_hex(workchain & 255), 2, '0'), 'hex') || hash;
BEGIN
  RETURN translate(encode(bytes || ledger.crc16(bytes), 'base64'), '+/', '-_');
END $$;
--> statement-breakpoint
CREATE FUNCTION ledger.crc16(bytes bytea) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
  crc integer := 0;
  x integer;
BEGIN
  FOR i IN 0..length(bytes) - 1 LOOP
    x := (crc >> 8) # get_byte(bytes, i);
    x := x # (x >> 4);
    crc := ((crc << 8) # (x << 12) # (x << 5) # x) & 65535;
  END LOOP;
  RETURN decode(lpad(to_hex(crc), 4, '0'), 'hex');
END $$;
--> statement-breakpoint
-- A number has 40 digits if they are enough, else 64, so that leading zeros make no difference and Ethereum's addresses
-- are as they are. With 41 before 40 digits it is an address of Tron, whose key is its base58 text.
CREATE FUNCTION ledger.hex_address_key(address text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
  digits CONSTANT text := replace(lower(address COLLATE "C"), '0x', '');
  bare CONSTANT text := ltrim(digits, '0');
BEGIN
  RETURN CASE WHEN length(bare) = 42 AND bare LIKE '41%' THEN ledger.base58check_text(decode(bare, 'hex'))
              WHEN length(bare) <= 40 THEN lpad(bare, 40, '0')
              WHEN length(bare) <= 64 THEN lpad(bare, 64, '0')
              ELSE digits END;
END $$;
--> statement-breakpoint
-- Texts of 35 or 36 bytes: an X-address of XRP becomes the classic address and its tag. An SS58 address (Polkadot) becomes
-- its public key; its checksum is not verified, because PostgreSQL has no BLAKE2b.
CREATE FUNCTION ledger.long_base58_key(address text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
  bitcoin CONSTANT text := '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
  ripple CONSTANT text := 'rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz';
  bytes bytea;
  tag bigint;
BEGIN
  IF address ~ '^[XT]' THEN
    bytes := ledger.base58_bytes(translate(address, ripple, bitcoin));
    IF length(bytes) = 35 AND substr(bytes, 1, 2) IN ('\x0544', '\x0493')
       AND substr(sha256(sha256(substr(bytes, 1, 31))), 1, 4) = substr(bytes, 32) THEN
      tag := get_byte(bytes, 23) + (get_byte(bytes, 24) << 8) + (get_byte(bytes, 25) << 16) + (get_byte(bytes, 26)::bigint << 24);
      IF substr(bytes, 28, 4) = '\x00000000' AND (get_byte(bytes, 22) = 1 OR get_byte(bytes, 22) = 0 AND tag = 0) THEN
        RETURN translate(ledger.base58check_text('\x00'::bytea || substr(bytes, 3, 20)), bitcoin, ripple)
               || CASE get_byte(bytes, 22) WHEN 1 THEN ':' || tag ELSE '' END;
      END IF;
    END IF;
  END IF;
  bytes := ledger.base58_bytes(address);
  RETURN CASE WHEN length(bytes) = 35 AND get_byte(bytes, 0) < 64 THEN ledger.hex_address_key(encode(substr(bytes, 2, 32), 'hex'))
              WHEN length(bytes) = 36 AND get_byte(bytes, 0) BETWEEN 64 AND 127
              THEN ledger.hex_address_key(encode(substr(bytes, 3, 32), 'hex'))
              ELSE address END;
END $$;
--> statement-breakpoint
-- The spelling of an address, without blanks, prefix and tag, that all its other spellings share.
CREATE FUNCTION ledger.shared_spelling(address text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
  lower_case CONSTANT text := lower(address COLLATE "C");
  one_case CONSTANT text := CASE WHEN address = upper(address COLLATE "C") THEN lower_case ELSE address END;
  bytes bytea;
BEGIN
  IF address ~ '^(0[xX])?[0-9a-fA-F]+$' THEN
    -- An actor of Filecoin by its number; in hexadecimal it is ff, 22 zeros and the number.
    IF lower_case ~ '^f0[0-9]{1,18}$' THEN RETURN 'ff' || lpad(to_hex(substr(lower_case, 3)::bigint), 38, '0'); END IF;
    RETURN ledger.hex_address_key(address);
  END IF;
  IF one_case ~ '^t0[0-9]{1,18}$' THEN RETURN 'ff' || lpad(to_hex(substr(lower_case, 3)::bigint), 38, '0'); END IF;
  -- Filecoin's form of an Ethereum address. Its checksum is BLAKE2b, which PostgreSQL does not have.
  IF one_case ~ '^[ft]410f[a-z2-7]{39}$' THEN
    RETURN ledger.hex_of_words(ledger.base32_words(substr(one_case, 6, 32), 'abcdefghijklmnopqrstuvwxyz234567'));
  END IF;
  IF length(address) IN (42, 61) AND one_case ~ '^[qpzr][qpzry9x8gf2tvdw0s3jn54khce6mua7l]+$' THEN
    RETURN ledger.cash_address_key(one_case);
  END IF;
  -- Zcash: the form of a transparent address that only takes transparent coins (ZIP 320).
  IF one_case ~ '^tex(test)?1[qpzry9x8gf2tvdw0s3jn54khce6mua7l]{38}$' THEN
    bytes := ledger.base32_words(right(one_case, 38), 'qpzry9x8gf2tvdw0s3jn54khce6mua7l');
    IF ledger.word_checksum(bytes, 25, '{0,996825010,642813549,490396127,513874426,634080840,955357079,60538917,1027748829,103310447,454213040,544795138,602090023,411663765,95659082,1054471160,705979059,293483777,205843678,925809516,884308809,266284283,317060388,697279126,391532910,742131420,822533891,174885041,167200916,849157926,799524601,349016395}')
       = (CASE length(address) WHEN 42 THEN 577141982 ELSE 277455973 END) THEN
      RETURN ledger.base58check_text(decode(CASE length(address) WHEN 42 THEN '1cb8' ELSE '1d25' END
                                            || ledger.hex_of_words(substr(bytes, 1, 32)), 'hex'));
    END IF;
  END IF;
  -- Litecoin has a form of its own for the scripts that Bitcoin writes with 3 (test networks: 2).
  IF address ~ '^[MQ][1-9A-HJ-NP-Za-km-z]{32,34}$' THEN
    bytes := ledger.base58_bytes(address);
    IF length(bytes) = 25 AND get_byte(bytes, 0) IN (50, 58)
       AND substr(sha256(sha256(substr(bytes, 1, 21))), 1, 4) = substr(bytes, 22) THEN
      RETURN ledger.base58check_text(set_byte(substr(bytes, 1, 21), 0, CASE get_byte(bytes, 0) WHEN 50 THEN 5 ELSE 196 END));
    END IF;
  END IF;
  IF address ~ '^([A-Za-z0-9_-]{48}|[A-Za-z0-9+/]{48})$' THEN
    bytes := decode(translate(address, '-_', '+/'), 'base64');
    IF get_byte(bytes, 0) & 127 IN (17, 81) AND substr(bytes, 35) = ledger.crc16(substr(bytes, 1, 34)) THEN
      RETURN ledger.ton_text(get_byte(bytes, 1), substr(bytes, 3, 32));
    END IF;
  END IF;
  IF address ~ '^1111[1-9A-HJ-NP-Za-km-z]{31,44}$|^[1-9A-HJ-NP-Za-km-z]{46,50}$' THEN RETURN ledger.long_base58_key(address); END IF;
  RETURN address;
END $$;
--> statement-breakpoint
-- Blanks around an address and the prefix of a cashaddr text are not part of it. A tag is, whatever separates it, with or
-- without its name: it comes behind a colon.
CREATE FUNCTION ledger.respelled_address_key(address text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
  bare CONSTANT text := regexp_replace(btrim(address, E' \t\r\n\f\v'),
    '^((bitcoincash|bchtest|bchreg|ecash|ectest|simpleledger|slptest|etoken)[:?#|,;])+', '', 'i');
  parts text[];
  spelling text;
  tag text;
BEGIN
  IF bare ~ '[:?#|,;]' THEN
    parts := regexp_match(bare, '^(-?[0-9]{1,3})[:?#|,;]([0-9a-fA-F]{64})([:?#|,;](.*))?$');
    IF parts[1]::integer BETWEEN -128 AND 127 THEN
      spelling := ledger.ton_text(parts[1]::integer, decode(parts[2], 'hex'));
      tag := parts[4];
    ELSE
      parts := regexp_match(bare, '^([^:?#|,;]*)[:?#|,;](.*)$');
      spelling := parts[1];
      tag := parts[2];
    END IF;
  ELSE
    spelling := bare;
  END IF;
  IF spelling !~ '\s' THEN spelling := ledger.shared_spelling(spelling); END IF;
  IF lower(spelling COLLATE "C") = spelling OR upper(spelling COLLATE "C") = spelling THEN
    spelling := lower(spelling COLLATE "C");
  END IF;
  RETURN spelling || coalesce(':' || regexp_replace(tag, '^([A-Za-z_-]+=)+', ''), '');
END $$;
--> statement-breakpoint
-- One key for all spellings of an address, whatever the database's locale. It is computed twice for each transaction that
-- is stored: cheap, and written so that the planner puts it in place of the call. Texts that may have a spelling of another
-- kind are known by length and first letter, and go to a function of their own; octet_length and ascii make no copy.
CREATE OR REPLACE FUNCTION ledger.address_key(address text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
SELECT CASE
  WHEN address ~ '^(0[xX])?[0-9a-fA-F]+$' THEN
    CASE WHEN octet_length(address) = 42 AND (address LIKE '0x%' OR address LIKE '0X%')
           OR octet_length(address) = 66 AND address LIKE '0x%' AND address NOT LIKE '0x00%'
           OR octet_length(address) = 40 AND address NOT LIKE '0x%' AND address NOT LIKE '0X%'
         THEN replace(lower(address COLLATE "C"), '0x', '')
         ELSE ledger.respelled_address_key(address) END
  WHEN CASE WHEN octet_length(address) > 61 THEN false
            WHEN octet_length(address) BETWEEN 21 AND 35 THEN ascii(address) IN (ascii('M'), ascii('Q'))
            WHEN octet_length(address) IN (42, 44, 61)
            THEN ascii(address) IN (ascii('q'), ascii('p'), ascii('z'), ascii('r'), ascii('Q'), ascii('P'), ascii('Z'), ascii('R'),
                                    ascii('t'), ascii('T'), ascii('f'), ascii('F'), ascii('1'))
            WHEN octet_length(address) BETWEEN 46 AND 50
            THEN octet_length(address) <> 48 OR ascii(address) <> ascii('E') OR strpos(address, '+') > 0 OR strpos(address, '/') > 0
            WHEN octet_length(address) < 21 THEN address LIKE 't0%' OR address LIKE 'T0%'
            ELSE address LIKE '1111%' END
    OR address ~ '[\s:?#|,;]' THEN ledger.respelled_address_key(address)
  WHEN lower(address COLLATE "C") <> address AND upper(address COLLATE "C") <> address THEN address
  ELSE lower(address COLLATE "C")
END
$$;
--> statement-breakpoint
CREATE TABLE engine.changed_keys AS
SELECT t.wallet, t.stream, engine.earlier_address_key(t.to_address) AS earlier_key, ledger.address_key(t.to_address) AS address_key,
       count(*) AS transactions
  FROM ledger.transactions t
 WHERE engine.earlier_address_key(t.to_address) <> ledger.address_key(t.to_address)
 GROUP BY 1, 2, 3, 4;
--> statement-breakpoint
-- Every session keeps the expression of an index with the function's text in it, and forgets it only when the index
-- changes. The entries of changed rows are in the wrong place of the index.
DO $$
DECLARE
  i record;
BEGIN
  FOR i IN
    SELECT x.indexrelid::regclass AS index, a.attnum, coalesce(a.attstattarget, -1) AS target,
           EXISTS (SELECT FROM engine.changed_keys k WHERE (k.stream = 'deposit') = (x.indexrelid::regclass::text ~ 'deposit')) AS is_changed
      FROM pg_depend d
      JOIN pg_index x ON d.classid = 'pg_class'::regclass AND x.indexrelid = d.objid
      JOIN pg_attribute a ON a.attrelid = x.indexrelid AND a.attnum = 1
     WHERE d.refclassid = 'pg_proc'::regclass AND d.refobjid = 'ledger.address_key(text)'::regprocedure
  LOOP
    IF i.is_changed THEN
      EXECUTE format('REINDEX INDEX %s', i.index);
    ELSE
      EXECUTE format('ALTER INDEX %s ALTER COLUMN %s SET STATISTICS %s', i.index, i.attnum, i.target);
    END IF;
  END LOOP;
END $$;
--> statement-breakpoint
CREATE TABLE engine.changed_addresses AS
SELECT a.wallet, a.slip44, a.address, ledger.address_key(a.address) AS address_key
  FROM ledger.addresses a
 WHERE a.address_key <> ledger.address_key(a.address);
--> statement-breakpoint
-- Of several rows for one address the one stays that promises most: handed out, then used, then foreign.
CREATE TABLE engine.address_ranks AS
SELECT m.wallet, m.slip44, m.address, m.address_key, m.assigned_to, m.assigned_at,
       row_number() OVER w AS rank, count(*) OVER (PARTITION BY m.wallet, m.slip44, m.address_key) AS rows
  FROM (SELECT a.wallet, a.slip44, a.address, c.address_key, a.assigned_to, a.assigned_at, a.status, a.first_seen_at
          FROM engine.changed_addresses c JOIN ledger.addresses a USING (wallet, slip44, address)
        UNION ALL
        SELECT a.wallet, a.slip44, a.address, a.address_key, a.assigned_to, a.assigned_at, a.status, a.first_seen_at
          FROM ledger.addresses a
         WHERE (a.wallet, a.address_key) IN (SELECT c.wallet, c.address_key FROM engine.changed_addresses c)
           AND (a.wallet, a.slip44, a.address) NOT IN (SELECT c.wallet, c.slip44, c.address FROM engine.changed_addresses c)) AS m
WINDOW w AS (PARTITION BY m.wallet, m.slip44, m.address_key
             ORDER BY m.assigned_at IS NULL, CASE m.status WHEN 'assigned' THEN 1 WHEN 'used' THEN 2 WHEN 'foreign' THEN 3 ELSE 4 END,
                      m.assigned_at, m.first_seen_at, m.address);
--> statement-breakpoint
UPDATE ledger.address_conflicts c SET address_key = ledger.address_key(c.address)
 WHERE c.address_key <> ledger.address_key(c.address);
--> statement-breakpoint
UPDATE engine.merged_addresses m SET address_key = ledger.address_key(m.address)
 WHERE m.address_key <> ledger.address_key(m.address);
--> statement-breakpoint
-- Two holders of one address: on one chain in two spellings, or on two chains.
INSERT INTO ledger.address_conflicts (wallet, slip44, address, address_key, assigned_to, assigned_at, noticed_at)
SELECT r.wallet, r.slip44, r.address, r.address_key, r.assigned_to, r.assigned_at, now()
  FROM engine.address_ranks r
  JOIN (SELECT x.wallet, x.address_key FROM engine.address_ranks x WHERE x.assigned_at IS NOT NULL GROUP BY x.wallet, x.address_key
        HAVING count(DISTINCT x.assigned_to) + count(*) FILTER (WHERE x.assigned_to IS NULL) > 1) AS c USING (wallet, address_key)
 WHERE r.assigned_at IS NOT NULL
ON CONFLICT DO NOTHING;
--> statement-breakpoint
INSERT INTO engine.merged_addresses (wallet, slip44, address, address_key, facts)
SELECT a.wallet, a.slip44, a.address, r.address_key,
       to_jsonb(a) - '{wallet,slip44,address,address_key,assigned_no,first_deposit_at,listed_as,unchecked_until}'::text[]
  FROM ledger.addresses a JOIN engine.address_ranks r USING (wallet, slip44, address)
 WHERE r.rank > 1
ON CONFLICT (wallet, slip44, address) DO UPDATE SET address_key = excluded.address_key, facts = excluded.facts;
--> statement-breakpoint
ALTER TABLE ledger.addresses DISABLE TRIGGER addresses_deleted;
--> statement-breakpoint
DELETE FROM ledger.addresses a USING engine.address_ranks r
 WHERE r.rank > 1 AND a.wallet = r.wallet AND a.slip44 = r.slip44 AND a.address = r.address;
--> statement-breakpoint
ALTER TABLE ledger.addresses ENABLE TRIGGER addresses_deleted;
--> statement-breakpoint
-- Computes the key again.
UPDATE ledger.addresses a SET address = a.address
  FROM engine.changed_addresses c
 WHERE a.wallet = c.wallet AND a.slip44 = c.slip44 AND a.address = c.address;
--> statement-breakpoint
-- What has been handed out on one chain is nobody else's on another.
UPDATE ledger.addresses a
   SET status = CASE WHEN h.holders = 1 THEN 'assigned' ELSE 'foreign' END,
       assigned_to = CASE WHEN h.holders = 1 THEN h.assigned_to END,
       assigned_at = CASE WHEN h.holders = 1 THEN h.assigned_at END
  FROM (SELECT x.wallet, x.address_key, min(x.assigned_to) AS assigned_to, min(x.assigned_at) AS assigned_at,
               count(DISTINCT x.assigned_to) + count(*) FILTER (WHERE x.assigned_to IS NULL) AS holders
          FROM ledger.addresses x
         WHERE x.assigned_at IS NOT NULL AND (x.wallet, x.address_key) IN (SELECT c.wallet, c.address_key FROM engine.changed_addresses c)
         GROUP BY x.wallet, x.address_key) AS h
 WHERE a.wallet = h.wallet AND a.address_key = h.address_key AND a.status = 'available';
--> statement-breakpoint
-- Which of the spellings the list shows is not known: the next pass reads the whole list again and counts.
UPDATE ledger.streams s
   SET ledger_count = c.count, checkpoint = NULL, is_backed = false, accepted_difference = 0, doubt = NULL,
       lease_owner = NULL, lease_until = NULL
  FROM (SELECT a.wallet, a.slip44, sum(greatest(1, cardinality(a.listed_as))) AS count FROM ledger.addresses a
         WHERE (a.wallet, a.slip44) IN (SELECT r.wallet, r.slip44 FROM engine.address_ranks r WHERE r.rows > 1)
         GROUP BY a.wallet, a.slip44) AS c
 WHERE s.wallet = c.wallet AND s.name = 'addresses:' || c.slip44;
--> statement-breakpoint
SET CONSTRAINTS ledger.streams_proof IMMEDIATE;
--> statement-breakpoint
-- The addresses whose deposits are others now, and the sums per chain of those deposits.
SELECT engine.recount_use(k.wallet, array_agg(DISTINCT k.key))
  FROM (SELECT c.wallet, c.address_key AS key FROM engine.changed_addresses c
        UNION ALL
        SELECT k.wallet, e.key FROM engine.changed_keys k CROSS JOIN LATERAL (VALUES (k.earlier_key), (k.address_key)) AS e (key)
         WHERE k.stream = 'deposit') AS k
 GROUP BY k.wallet;
--> statement-breakpoint
UPDATE engine.chain_deposit_marks m SET address_key = ledger.address_key(m.address_key)
 WHERE m.address_key <> ledger.address_key(m.address_key);
--> statement-breakpoint
INSERT INTO engine.chain_deposit_marks (wallet, address_key)
SELECT DISTINCT k.wallet, k.address_key FROM engine.changed_keys k
 WHERE k.stream = 'deposit' AND EXISTS (SELECT FROM ledger.addresses a WHERE a.wallet = k.wallet AND a.address_key IN (k.earlier_key, k.address_key));
--> statement-breakpoint
DROP TABLE engine.address_ranks;
--> statement-breakpoint
DROP TABLE engine.changed_addresses;
--> statement-breakpoint
DROP TABLE engine.changed_keys;
--> statement-breakpoint
DROP FUNCTION engine.earlier_address_key(text);
--> statement-breakpoint
DROP FUNCTION ledger.trimmed_address_key(text);
--> statement-breakpoint
-- Whoever may read the feed may compare its addresses. The functions behind address_key need rights of their own.
CREATE FUNCTION ledger.key_of_address(address text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  RETURN ledger.address_key(address);
END $$;
--> statement-breakpoint
DO $grants$
DECLARE
  g record;
BEGIN
  FOR g IN
    SELECT DISTINCT a.grantee::regrole AS grantee
      FROM pg_proc p CROSS JOIN aclexplode(p.proacl) a
     WHERE p.oid = 'ledger.events_head()'::regprocedure AND a.privilege_type = 'EXECUTE' AND a.grantee NOT IN (0, p.proowner)
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION ledger.key_of_address(text) TO %s', g.grantee);
  END LOOP;
END $grants$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION ledger.contract_version() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT '1.3' $$;
--> statement-breakpoint
COMMENT ON FUNCTION ledger.address_key(text) IS 'Returns the same key for all spellings of an address: hexadecimal numbers in either case, with 0x, leading zeros or without; texts in one case; addresses of Tron in base58 or hexadecimal, of TON in all forms, of Bitcoin Cash as cashaddr or base58, of Polkadot for every network or as public key; X-addresses of XRP, Litecoin''s M and 3, Filecoin''s f410 and 0x, Zcash''s tex and t1. A tag comes behind a colon. Any other text of both cases is its own key';
COMMENT ON FUNCTION ledger.key_of_address(text) IS 'As address_key, for roles that read the feed';
COMMENT ON FUNCTION ledger.respelled_address_key(text) IS 'Internal: part of ledger.address_key, for texts that may have a spelling of another kind';
COMMENT ON FUNCTION ledger.shared_spelling(text) IS 'Internal: part of ledger.address_key. The spelling that an address without blanks, prefix and tag shares with its others; any other text as it is';
COMMENT ON FUNCTION ledger.hex_address_key(text) IS 'Internal: part of ledger.address_key, for hexadecimal numbers of any length';
COMMENT ON FUNCTION ledger.cash_address_key(text) IS 'Internal: part of ledger.address_key, for cashaddr texts in lower case without prefix';
COMMENT ON FUNCTION ledger.long_base58_key(text) IS 'Internal: part of ledger.address_key, for X-addresses and SS58';
COMMENT ON FUNCTION ledger.ton_text(integer, bytea) IS 'Internal: part of ledger.address_key. The bounceable text of an address of TON';
COMMENT ON FUNCTION ledger.base58_bytes(text) IS 'Internal: part of ledger.address_key. The bytes of a base58 text; null if it is none';
COMMENT ON FUNCTION ledger.base58check_text(bytea) IS 'Internal: part of ledger.address_key. The base58 text of the bytes and their checksum';
COMMENT ON FUNCTION ledger.base32_words(text, text) IS 'Internal: part of ledger.address_key. One byte per letter; its last five bits are the place of the letter in the alphabet';
COMMENT ON FUNCTION ledger.hex_of_words(bytea) IS 'Internal: part of ledger.address_key. The hexadecimal digits of five-bit words, eight words at a time';
COMMENT ON FUNCTION ledger.word_checksum(bytea, integer, bigint[]) IS 'Internal: part of ledger.address_key. The checksum of five-bit words';
COMMENT ON FUNCTION ledger.crc16(bytea) IS 'Internal: part of ledger.address_key. The checksum of an address of TON';
--> statement-breakpoint
SELECT engine.settle_rights();
