SELECT engine.settle_rights();
