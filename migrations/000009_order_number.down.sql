-- Nothing: the key goes with its table.
DO 0
