-- Nothing: the columns go with their table.
DO 0
