DROP TABLE current_pricebooks;
