#!/usr/bin/env node
// The program of a hostile package: it runs one of the native programs that come with it,
// as packages with native parts do, or the server of fixture.js.
'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');
const { spawn } = require('child_process');

const [which, ...args] = process.argv.slice(2);
if (which === 'fixture') {
  require('./fixture.js');
} else {
  // What npm unpacks may not be executable.
  const program = path.join(os.tmpdir(), `${which}-${process.pid}`);
  fs.copyFileSync(path.join(__dirname, which), program);
  fs.chmodSync(program, 0o755);
  const child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, ATTACK_PACKAGE: path.join(__dirname, 'own.txt') } });
  child.on('error', (err) => { console.error(err); process.exit(1); });
  child.on('exit', (code) => process.exit(code ?? 1));
}
