// SPDX-License-Identifier: Apache-2.0
// needs: node
// child processes, workers, timers, files, sockets
const { execFileSync, spawn, fork } = require('child_process'), { Worker, isMainThread, parentPort } = require('worker_threads'), fs = require('fs'), net = require('net'), crypto = require('crypto')
if (!isMainThread) { parentPort.postMessage([...Array(1000).keys()].reduce((a, b) => a + b)); return }
if (process.argv[2] === 'child') { process.send({ hi: 1 }); process.disconnect(); return }
;(async () => {
  console.log(execFileSync('echo', ['sync']).toString().trim())
  console.log(await new Promise(r => { const p = spawn('sh', ['-c', 'cat; exit 5']); let o = ''; p.stdout.on('data', d => o += d); p.on('close', c => r([o, c])); p.stdin.end('piped') }))
  console.log(await new Promise(r => new Worker(__filename).on('message', r)))
  console.log(await new Promise(r => { const p = fork(__filename, ['child']); let m; p.on('message', x => m = x); p.on('exit', c => r([m, c])) }))
  fs.writeFileSync('out', 'x'.repeat(10000)); console.log((await fs.promises.readFile('out')).length)
  console.log(await new Promise(r => { const s = net.createServer(c => c.end('net')).listen(0, '127.0.0.1', () => net.connect(s.address().port).on('data', d => { s.close(); r(d.toString()) })) }))
  console.log((await Promise.all([1, 2, 3, 4, 5].map(n => new Promise(r => crypto.pbkdf2('a', 'b', 2000 + n, 16, 'sha1', (e, k) => r(k.toString('hex'))))))).join())
  await new Promise(r => setTimeout(r, 10)); process.exitCode = 12
})()
