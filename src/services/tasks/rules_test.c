/* rules_test.c - every verb from every status, with and without force, against the measured behaviour of the wire. */
#include "services/tasks/rules.h"

#include "base/unit.h"
#include "wire/errors.h"

#include <string.h>

/* columns: created queued in_progress stopped failed completed closed published; + goes, - is refused with 400/110 */
static const enum task_status columns[8] = { TASK_CREATED, TASK_QUEUED,    TASK_IN_PROGRESS, TASK_STOPPED,
                                             TASK_FAILED,  TASK_COMPLETED, TASK_CLOSED,      TASK_PUBLISHED };
static const struct {
    enum task_verb verb;
    const char *goes;
} matrix[] = {
    { VERB_STARTED, "++++-+--" }, { VERB_STOP, "-++++-+-" },      { VERB_STOPPED, "-++++-+-" },
    { VERB_FAILED, "--+++-+-" },  { VERB_COMPLETED, "--++-+--" }, { VERB_CLOSE, "---+--+-" },
    { VERB_PUBLISH, "---++++-" }, { VERB_RESET, "+++++++-" },     { VERB_ENQUEUE, "++-++---" },
};

static void test_verbs (void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof matrix / sizeof *matrix; r++)
        for (int i = 0; i < 8; i++) {
            struct error err = { 0 };
            int rc = task_verb_check (matrix[r].verb, columns[i], false, &err);
            if ((rc == 0) != (matrix[r].goes[i] == '+'))
                fail_msg ("%s from %s: %d", task_verb (matrix[r].verb)->name, task_status_name (columns[i]),
                          rc);
            if (rc < 0)
                assert_int_equal (err.code, ERR_INVALID_TASK_STATUS);
            assert_int_equal (task_verb_check (matrix[r].verb, columns[i], true, &err), 0);
        }
}

static const struct {
    enum task_guard guard;
    bool force;
    const char *allowed;
    int code;
} guard_matrix[] = {
    { GUARD_EDIT, false, "+-------", ERR_INVALID_TASK_STATUS },
    { GUARD_EDIT, true, "++++++++", 0 },
    { GUARD_PARAMS, false, "+-------", ERR_INVALID_TASK_STATUS },
    { GUARD_PARAMS, true, "+++-----", ERR_INVALID_TASK_STATUS },
    { GUARD_ARTIFACTS, false, "+++-----", ERR_INVALID_TASK_STATUS },
    { GUARD_ARTIFACTS, true, "+++-----", ERR_INVALID_TASK_STATUS },
    { GUARD_DELETE, false, "+-------", ERR_TASK_CANNOT_BE_DELETED },
    { GUARD_DELETE, true, "++++++++", 0 },
};

static void test_guards (void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof guard_matrix / sizeof *guard_matrix; r++)
        for (int i = 0; i < 8; i++) {
            struct error err = { 0 };
            int rc = task_guard_check (guard_matrix[r].guard, columns[i], false, guard_matrix[r].force, &err);
            assert_int_equal (rc == 0, guard_matrix[r].allowed[i] == '+');
            if (rc < 0)
                assert_int_equal (err.code, guard_matrix[r].code);
        }
    struct error err = { 0 };
    assert_int_equal (task_guard_check (GUARD_DELETE, TASK_STOPPED, true, false, &err), 0);
    assert_int_equal (task_guard_check (GUARD_EDIT, TASK_STOPPED, true, false, &err), -1);
}

static void test_names (void **state)
{
    (void)state;
    for (int i = 0; i < TASK_STATUSES; i++) {
        enum task_status s = TASK_UNKNOWN;
        assert_true (task_status_parse (task_status_name ((enum task_status)i), &s));
        assert_int_equal (s, i);
    }
    enum task_status s;
    assert_false (task_status_parse ("bogus", &s));
    assert_false (task_status_parse (NULL, &s));
    assert_true (task_type_known ("data_processing"));
    assert_false (task_type_known ("bogus"));
}

int main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (test_verbs), cmocka_unit_test (test_guards),
                                        cmocka_unit_test (test_names) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
