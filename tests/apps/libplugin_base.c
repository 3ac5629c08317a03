/* SPDX-License-Identifier: Apache-2.0 */
/* libplugin_base - what libplugin needs; found through libplugin's own RUNPATH only. */
int plugin_base_value(void)
{
	return 40;
}
