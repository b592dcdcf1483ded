// Runs before `npm start` and `npm test`, on whatever Node the machine has and with nothing installed: makes
// sure that the npm packages of package-lock.json are in node_modules, with the Node that Gantry runs on.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The oldest Node that npm and this script can install with; Gantry itself runs on the one it installs. */
const oldestNode = 20

/** What npm says when the registry can't be reached, or when its cache is not enough without. */
const networkErrors =
  /\b(?:ENOTFOUND|EAI_AGAIN|E(?:CONN|NET|HOST)[A-Z]+|ETIMEDOUT|ERR_SOCKET_TIMEOUT|FETCH_ERROR|ENOTCACHED)\b/

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const modules = join(root, 'node_modules')
const lockFile = join(root, 'package-lock.json')
/** npm's own account of what it installed. */
const installedFile = join(modules, '.package-lock.json')
/** Has the fingerprint of an installation that was found right, so that the next start is quick. */
const stampFile = join(modules, '.gantry-stamp')
const nodeFile =
  process.platform === 'win32' ? join(modules, 'node', 'bin', 'node.exe') : join(modules, '.bin', 'node')

if (Number.parseInt(process.versions.node, 10) < oldestNode) {
  fail(`Node ${process.versions.node} is too old: install Node ${oldestNode} or newer`)
}
if (!existsSync(lockFile))
  fail('package-lock.json is missing: restore it with "git checkout package-lock.json"')
const found = fingerprint()
if (found === undefined || found !== read(stampFile)) makeRight()

function makeRight() {
  const lock = JSON.parse(read(lockFile)).packages
  const node = lock['node_modules/node'].version
  const why = whyInstall(lock)
  if (why !== undefined) {
    say(`installing the npm packages (${why}); this takes a minute or two`)
    // No package's install script is run, except that of Node below: the others do nothing that is needed.
    npm('ci', '--ignore-scripts', '--include=dev', '--include=optional', '--no-audit', '--no-fund')
  }
  if (!nodeIs(node)) {
    if (why === undefined) say(`installing Node ${node} into node_modules`)
    npm('rebuild', 'node', '--ignore-scripts=false')
    if (!nodeIs(node))
      fail(`Node ${node} could not be installed: see "npm rebuild node --foreground-scripts"`)
  }
  try {
    writeFileSync(stampFile, fingerprint() ?? '')
  } catch {
    // In a node_modules that can't be written all is checked again next time, which takes a little longer.
  }
}

/** Changes with what should be installed, what npm says it installed, and the Node there; none without these. */
function fingerprint() {
  if (!existsSync(installedFile) || !existsSync(nodeFile)) return undefined
  const { size, mtimeMs } = statSync(nodeFile)
  const hash = createHash('sha256').update(read(lockFile)).update(read(installedFile))
  return hash.update([process.platform, process.arch, size, mtimeMs].join(' ')).digest('hex')
}

function whyInstall(lock) {
  if (!existsSync(installedFile)) return 'none are installed yet'
  return Object.entries(lock).every(isInstalled) ? undefined : 'package-lock.json has changed'
}

/** By the package itself: npm's account is wrong after "npm install --package-lock-only". */
function isInstalled([path, { version, optional }]) {
  if (path === '' || optional) return true
  const manifest = read(join(root, path, 'package.json'))
  return manifest !== undefined && JSON.parse(manifest).version === version
}

function nodeIs(version) {
  return spawnSync(nodeFile, ['--version'], { encoding: 'utf8' }).stdout?.trim() === `v${version}`
}

function npm(...args) {
  // Without a network, npm tries each of 500 packages for a minute or more: its cache is asked at once instead.
  const reached = runNpm('ping', '--fetch-retries=1', '--fetch-retry-mintimeout=500', '--fetch-timeout=5000')
  const offline = networkErrors.test(reached.stderr) ? ['--offline'] : []
  const { status, signal, stderr } = runNpm(...args, ...offline)
  if (signal) fail(`npm was interrupted (${signal}): run it again`)
  if (status !== 0) fail(explain(stderr, args.slice(0, 2).join(' ')))
}

function runNpm(...args) {
  const { file, before, shell } = howToRunNpm()
  const options = {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    shell,
    env: environment(),
  }
  const result = spawnSync(file, [...before, ...args, '--loglevel=error'], options)
  if (result.error)
    fail(`npm cannot be run (${result.error.message}): install npm, which is included with Node`)
  return result
}

/** By the npm and the Node that started us, if they did: those of node_modules are being replaced. */
function howToRunNpm() {
  const { npm_execpath: cli = '', npm_node_execpath: node = '' } = process.env
  const own = `${modules}${sep}`
  const usable = /npm-cli\.[cm]?js$/.test(cli) && existsSync(node) && !node.startsWith(own)
  if (usable) return { file: node, before: [cli], shell: false }
  return { file: 'npm', before: [], shell: process.platform === 'win32' }
}

function environment() {
  const name = Object.keys(process.env).find((key) => key.toUpperCase() === 'PATH') ?? 'PATH'
  const folders = (process.env[name] ?? '').split(delimiter).filter((folder) => !folder.startsWith(modules))
  return { ...process.env, [name]: folders.join(delimiter) }
}

function explain(stderr, command) {
  if (networkErrors.test(stderr)) {
    return 'the npm registry cannot be reached: check the network, "npm config get registry" and "npm config get proxy"'
  }
  if (/\b(?:EACCES|EPERM|EROFS)\b/.test(stderr)) {
    return `${modules} cannot be written: run as its owner, or run "sudo chown -R $(id -u) ${root}"`
  }
  if (/\bENOSPC\b/.test(stderr)) return `the disk of ${modules} is full: free about 500 MB`
  if (/\bEUSAGE\b/.test(stderr)) return 'package-lock.json does not match package.json: run "npm install"'
  const first = stderr.split('\n').find((line) => /^npm error (?!code )\S/.test(line)) ?? 'no error message'
  return `npm failed (${first.replace('npm error ', '')}): run "npm ${command}" for details`
}

function read(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined
}

function say(text) {
  process.stderr.write(`gantry: ${text}\n`)
}

function fail(text) {
  say(text)
  process.exit(1)
}
