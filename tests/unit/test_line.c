/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Files of one line (user/base/line.c). */
#include <errno.h>

#include "testlib.h"

#include "../../user/base/line.h"

static void test_line(void **state)
{
	char path[] = "/tmp/lnetx-line-XXXXXX", line[6];
	FILE *f;

	close(mkstemp(path));
	assert_int_equal(lx_line_read(line, sizeof(line), "%s", path), -EIO);
	assert_int_equal(lx_line_write("12345", "%s", path), 0);
	assert_int_equal(lx_line_read(line, sizeof(line), "%s", path), -EOVERFLOW);
	assert_int_equal(lx_line_write("1234", "%s", path), 0);
	assert_int_equal(lx_line_read(line, sizeof(line), "%s", path), 0);
	assert_string_equal(line, "1234");
	f = fopen(path, "w");
	fputs("1\n2", f);
	fclose(f);
	assert_int_equal(lx_line_read(line, sizeof(line), "%s", path), 0);
	assert_string_equal(line, "1");
	unlink(path);
	assert_int_equal(lx_line_read(line, sizeof(line), "%s", path), -ENOENT);
	assert_int_equal(lx_line_write("1", "%s/x", path), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_line) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
