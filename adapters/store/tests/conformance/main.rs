//! What every store must do, whatever the database: each case runs on SQLite and on PostgreSQL.

#![allow(clippy::unwrap_used, reason = "what fails here fails a test")]

mod accounts;
mod audit;
mod backup;
mod clients;
mod common;
mod conflicts;
mod connections;
mod console;
mod credentials;
mod fairness;
mod groups;
mod held;
mod idempotency;
mod jobs;
mod lists;
mod migrations;
mod moved;
mod neighbours;
mod numbers;
mod parties;
mod policies;
mod resellers;
mod schema;
mod sealed;
mod secrets;
mod slow;
mod tenancy;
mod units;

/// Makes two tests of each case, `sqlite::noun::case` and `postgres::noun::case`. A case that is not listed is dead
/// code, which the compiler reports.
macro_rules! conformance {
    ($($noun:ident { $($case:ident,)* })*) => {
        mod sqlite {$(
            mod $noun {$(
                #[test]
                fn $case() {
                    crate::common::on_sqlite(crate::$noun::$case);
                }
            )*}
        )*}
        mod postgres {$(
            mod $noun {$(
                #[test]
                fn $case() {
                    crate::common::on_postgres(crate::$noun::$case);
                }
            )*}
        )*}
    };
}

conformance! {
    jobs {
        the_backlog_is_counted_by_kind_and_knows_the_oldest,
        a_cascade_that_is_begun_again_goes_on_for_the_later_time,
    }
    resellers {
        keeps_every_field,
        a_code_is_taken_once,
        saving_changes_what_may_change_and_nothing_else,
        a_stale_copy_cannot_be_saved,
    }
    clients {
        keeps_every_field_and_both_secrets,
        saving_replaces_the_secrets,
        a_stale_copy_cannot_be_saved,
        a_client_that_was_not_saved_keeps_its_secrets,
        are_listed_for_their_reseller_newest_first,
        an_api_key_keeps_every_field,
        an_api_key_is_revoked_once,
        the_epoch_grows_and_never_goes_back,
    }
    console {
        a_session_keeps_every_field,
        sessions_end_one_by_one_by_holder_and_by_age,
        the_oldest_sessions_of_a_holder_end_first,
        an_operator_key_keeps_every_field_and_is_revoked_once,
        a_session_of_a_provider_keeps_every_field_and_is_begun_once,
        nodes_are_noted_listed_and_forgotten,
        counts_stop_at_their_ceiling,
        accounts_are_found_by_the_beginning_of_their_address,
    }
    accounts {
        keeps_every_field,
        an_account_with_nothing_optional_comes_back,
        is_found_by_every_name_it_has,
        an_address_belongs_to_one_live_account_however_it_is_spelled,
        an_address_is_free_again_after_termination,
        an_address_finds_the_live_account_or_else_the_one_that_had_it_last,
        an_external_id_belongs_to_one_live_account,
        saving_changes_what_may_change_and_nothing_else,
        an_address_in_use_cannot_be_saved,
        a_stale_copy_cannot_be_saved,
        shows_whether_its_first_credential_is_revoked,
        a_text_with_a_zero_byte_finds_nothing,
    }
    credentials {
        keeps_every_field,
        saving_changes_what_may_change_and_nothing_else,
        a_stale_copy_cannot_be_saved,
        revoking_all_leaves_those_that_are_revoked_already,
        a_key_id_is_given_once,
    }
    groups {
        keeps_every_field,
        a_name_is_taken_once_within_a_reseller,
        saving_changes_what_may_change_and_nothing_else,
        a_stale_copy_cannot_be_saved,
        an_account_is_in_a_group_once,
        deleting_a_group_leaves_its_accounts_and_policies,
        memberships_of_a_deleted_group_count_for_nothing,
        the_groups_of_an_account_come_by_name,
    }
    policies {
        keeps_every_rule,
        a_policy_without_rules_comes_back,
        a_name_is_taken_once_within_a_reseller,
        saving_changes_what_may_change_and_nothing_else,
        a_stale_copy_cannot_be_saved,
        is_assigned_to_a_group_once,
        an_account_has_the_version_of_each_policy_of_its_groups_once,
        deleting_a_policy_takes_it_off_its_groups,
        assignments_of_a_deleted_policy_count_for_nothing,
    }
    audit {
        keeps_every_field,
        takes_every_text,
        each_filter_narrows_the_trail,
        a_reseller_finds_its_own_behind_much_of_others,
        a_long_detail_is_cut_before_it_is_written,
        a_long_detail_of_an_earlier_version_is_read_in_part,
        what_was_written_cannot_be_changed_or_deleted,
        positions_never_come_back_whatever_is_cut,
        a_place_in_time_misses_nothing_that_was_committed_in_another_order,
        what_waited_for_another_stands_behind_it,
    }
    idempotency {
        an_answer_is_kept_and_given_again,
        a_key_belongs_to_its_reseller,
        an_answer_grows_old,
        a_second_answer_is_stale_while_the_first_is_young,
        an_old_answer_makes_room_for_a_new_one,
        an_answer_that_is_too_long_counts_as_none,
        old_answers_are_forgotten_oldest_first,
    }
    secrets {
        a_service_secret_is_settled_once,
        token_keys_come_newest_first_until_they_are_deleted,
        issuers_come_roots_first_and_names_are_taken_once,
        an_issuer_is_retired_and_activated_again,
        an_issuer_prefers_one_of_its_chains,
        an_issuer_has_each_chain_once_until_it_is_removed,
    }
    sealed {
        every_sealed_column_of_the_schema_is_listed,
        values_are_walked_in_the_order_of_their_ids,
        a_value_is_replaced_unless_it_has_changed,
    }
    tenancy {
        another_resellers_account_is_not_found,
        another_resellers_credential_is_not_found,
        another_resellers_group_and_policy_are_not_found,
        lists_hold_nothing_of_another_reseller,
    }
    lists {
        resellers_are_walked_without_gap_or_repetition,
        accounts_are_walked_without_gap_or_repetition,
        accounts_are_filtered_by_every_combination,
        credentials_of_an_account_are_walked_without_gap_or_repetition,
        credentials_of_a_reseller_are_walked_without_gap_or_repetition,
        groups_are_walked_without_gap_or_repetition,
        members_are_walked_without_gap_or_repetition,
        policies_are_walked_without_gap_or_repetition,
        the_trail_is_walked_without_gap_or_repetition,
        a_list_that_just_fits_has_no_next_page,
        a_page_ends_once_it_has_read_as_much_as_a_page_may,
        a_page_ends_once_what_belongs_to_its_items_is_too_much,
    }
    units {
        an_error_leaves_nothing_behind,
        neighbours_of_a_failed_unit_are_kept,
        a_panic_hurts_nobody_else,
        a_swallowed_database_error_keeps_nothing,
        a_reading_unit_cannot_write,
        a_reading_unit_sees_one_moment,
        what_waits_beyond_the_queue_is_refused,
        a_unit_whose_caller_went_away_is_done_all_the_same,
        what_would_only_be_read_is_not_once_nobody_waits,
        the_largest_write_is_known_by_its_rows,
    }
    numbers {
        none_is_given_twice_to_concurrent_units,
        none_comes_back_after_termination_or_failure,
    }
    conflicts {
        a_unit_that_meets_another_is_run_again,
        two_holders_that_both_write_both_end,
        one_address_inserted_twice_at_once_goes_to_one,
        one_address_saved_twice_at_once_goes_to_one,
        one_key_used_twice_at_once_gives_one_answer,
        one_secret_settled_twice_at_once_is_the_same,
    }
    held {
        an_account_cannot_end_under_a_new_credential,
        a_credential_cannot_be_revoked_under_a_new_order,
        a_group_cannot_go_under_a_new_member,
        a_policy_cannot_go_under_a_new_assignment,
        what_is_claimed_can_neither_be_held_nor_claimed,
        a_key_is_not_blocked_while_a_certificate_for_it_is_kept,
        a_ca_is_not_revoked_while_a_certificate_of_it_is_kept,
    }
    parties {
        a_change_during_the_wait_is_seen,
        a_change_is_seen_at_once_whoever_makes_it,
        what_was_not_kept_is_not_remembered,
        nonces_are_taken_together,
        nonces_of_an_ended_generation_are_not_redeemed,
        they_are_remembered,
    }
    fairness {
        a_unit_waits_for_one_unit_of_another_reseller,
        resellers_share_time_and_not_turns,
        a_commit_does_not_wait_for_all_units_of_another_reseller,
        a_reseller_that_floods_the_queue_leaves_room_for_others,
        a_reseller_alone_leaves_connections_to_those_who_arrive,
    }
    neighbours {
        two_handles_write_to_one_database,
        a_neighbour_gets_its_turn_while_the_store_is_busy,
        a_handle_sees_what_another_has_written,
    }
    migrations {
        every_step_is_applied_once,
        a_database_without_the_schema_is_refused_where_it_may_not_be_changed,
        a_newer_schema_is_refused_unless_it_leaves_room_for_this_program,
        programs_from_before_the_batches_are_refused,
        many_that_start_at_once_apply_each_step_once,
        opening_works_inside_a_runtime,
    }
    slow {
        a_lock_that_is_not_given_back_is_no_mistake_of_ours,
        a_migration_waits_for_another_that_takes_long,
        a_unit_that_waits_too_long_for_its_turn_finds_the_queue_full,
    }
}
