DROP TABLE offerings;
