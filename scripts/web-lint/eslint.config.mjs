// SPDX-License-Identifier: Apache-2.0
// Rules of eslint for reader/web; scripts/check-web runs it. The formatting is prettier's.
import js from '@eslint/js';
import globals from 'globals';

export default [
	js.configs.recommended,
	{
		rules: {
			eqeqeq: ['error', 'always', { null: 'ignore' }],
			'max-len': ['error', { code: 120, tabWidth: 2 }],
			'no-implicit-globals': 'error',
			'no-shadow': 'error',
			'no-unused-vars': 'error',
			'no-var': 'error',
			'prefer-const': 'error',
		},
	},
	{ files: ['reader/web/src/*.js'], languageOptions: { globals: globals.browser } },
	{ files: ['reader/web/*.mjs', 'scripts/web-lint/*.mjs'], languageOptions: { globals: globals.node } },
];
