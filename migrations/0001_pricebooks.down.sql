DROP TABLE pricebooks;
