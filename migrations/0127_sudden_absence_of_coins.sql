-- One empty answer unlisted all coins.
COMMENT ON COLUMN engine.snapshots.empty_since IS 'Since when the service has named no balance while the ledger has some that are not 0, or no coin while the ledger lists some; null: it has named some last. They count as no longer listed only after ten minutes of it';
