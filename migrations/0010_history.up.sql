-- History stays as it was written. The statements of the collectors spare it already; these triggers hold for every
-- other hand that reaches the tables. They fire ALWAYS, so session_replication_role does not silence them. What remains
-- possible is what says what it does: an owner who disables a trigger, and the dropping of a whole month.
CREATE FUNCTION finops_refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION '% of % refused: %', TG_OP, TG_TABLE_NAME, TG_ARGV[0]
        USING ERRCODE = 'restrict_violation', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, CONSTRAINT = TG_NAME;
END
$$;

-- Rows of a partitioned table hand their triggers down to every month, statements do not: finops_ensure_months
-- gives each month of charges its own guard against TRUNCATE.
CREATE TRIGGER finalized_charge_is_history
    BEFORE UPDATE OR DELETE ON subscription_charges
    FOR EACH ROW WHEN (OLD.finalized)
    EXECUTE FUNCTION finops_refuse_change('a finalized charge is history');
ALTER TABLE subscription_charges ENABLE ALWAYS TRIGGER finalized_charge_is_history;

CREATE TRIGGER charges_are_not_truncated
    BEFORE TRUNCATE ON subscription_charges
    EXECUTE FUNCTION finops_refuse_change('a finalized charge is history');
ALTER TABLE subscription_charges ENABLE ALWAYS TRIGGER charges_are_not_truncated;

-- A charge says from which rates and versions it was computed. Foreign keys keep those rows; this keeps what they say.
CREATE TRIGGER pricebook_is_append_only
    BEFORE UPDATE ON pricebooks
    FOR EACH ROW WHEN (OLD IS DISTINCT FROM NEW)
    EXECUTE FUNCTION finops_refuse_change('rates are appended, never changed');
ALTER TABLE pricebooks ENABLE ALWAYS TRIGGER pricebook_is_append_only;

CREATE TRIGGER offering_version_is_history
    BEFORE UPDATE OF id, generation, valid_from, uid, cluster_id, namespace, name, content_hash, spec, resolved_pricing,
        labels, annotations ON offerings
    FOR EACH ROW
    EXECUTE FUNCTION finops_refuse_change('a version is history; only deleted_at may be set');
ALTER TABLE offerings ENABLE ALWAYS TRIGGER offering_version_is_history;

CREATE TRIGGER subscription_version_is_history
    BEFORE UPDATE OF id, generation, valid_from, activated_at, deactivated_at, uid, offering_uid, parent_uid, cluster_id,
        namespace, name, content_hash, offering_namespace, offering_name, parent_namespace, parent_name,
        compatibility_root, spec, namespace_labels, labels, annotations ON subscriptions
    FOR EACH ROW
    EXECUTE FUNCTION finops_refuse_change('a version is history; only deleted_at may be set');
ALTER TABLE subscriptions ENABLE ALWAYS TRIGGER subscription_version_is_history;
