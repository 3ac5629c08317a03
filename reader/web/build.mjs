// SPDX-License-Identifier: Apache-2.0
// Bundle the page of `trace report --html` and write it as two C strings: the parts before and after the data.
// Usage: node build.mjs PAGE.h
import { build, transform } from 'esbuild';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const [, , header] = process.argv;

const bundle = await build({
	absWorkingDir: here,
	entryPoints: ['src/main.js'],
	bundle: true,
	minify: true,
	format: 'iife',
	target: ['es2020'],
	legalComments: 'none',
	metafile: true,
	write: false,
});
const script = bundle.outputFiles[0].text.trim();
const style = (
	await transform(readFileSync(join(here, 'src/style.css'), 'utf8'), { loader: 'css', minify: true })
).code.trim();

// Return the license of every package whose code is in the bundle.
function licenses() {
	const packages = new Set();
	for (const name of Object.keys(bundle.metafile.inputs)) {
		const found = name.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//);
		if (found) packages.add(found[1]);
	}
	return [...packages]
		.sort()
		.map((name) => {
			const folder = join(here, 'node_modules', name);
			const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
			const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
			if (!file) throw new Error(`${name} has no file with its license`);
			return `${name} ${version}\n\n${readFileSync(join(folder, file), 'utf8').trim()}`;
		})
		.join('\n\n\n');
}

const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const escaped = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
if (/<\/script|<!--/i.test(script)) throw new Error('the bundle would end its own element');

const policy = [
	"default-src 'none'",
	`script-src ${hash(script)}`,
	`style-src ${hash(style)}`,
	"base-uri 'none'",
	"form-action 'none'",
].join('; ');
const licenseTexts = escaped(licenses());
const before = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>libtrace report</title>
<style>${style}</style>
</head>
<body>
<div id="page"><p class="wait">reading the report ...</p></div>
<noscript><p class="wait">This page needs JavaScript; it loads nothing from anywhere.</p></noscript>
<footer><details><summary>Licenses of the packages in this page</summary><pre>${licenseTexts}</pre></details></footer>
<script type="application/json" id="data">`;
const behind = `</script>
<script>${script}</script>
</body>
</html>
`;

// Write short string literals, so that messages of compilers stay readable.
function literals(text) {
	const bytes = Buffer.from(text, 'utf8');
	let out = '',
		line = '';
	for (const byte of bytes) {
		const c = String.fromCharCode(byte);
		line +=
			c === '\\' || c === '"'
				? `\\${c}`
				: byte >= 0x20 && byte < 0x7f && c !== '?'
					? c
					: `\\${byte.toString(8).padStart(3, '0')}`;
		if (line.length >= 120) {
			out += `\t"${line}"\n`;
			line = '';
		}
	}
	return `${out}\t"${line}"\n`;
}

writeFileSync(
	header,
	`static const char page_before[] =\n${literals(before)}\t;\n` +
		`static const char page_behind[] =\n${literals(behind)}\t;\n`,
);
