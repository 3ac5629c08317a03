/* SPDX-License-Identifier: Apache-2.0 */
/* libplugin_base.c - a library that libplugin needs; it is found through libplugin's own RUNPATH
 * only. */
int plugin_base_value(void)
{
	return 40;
}
