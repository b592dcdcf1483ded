import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type AptSource, debianArchives, parseDeb822, parseOneLine } from './apt-sources.ts'
import { ProgramError, runProgram } from './run-program.ts'

/** `etc` stands in for `/etc` in tests. */
export interface DebianOptions {
  etc?: string
}

/** The first suite whose nats-server is new enough (2.15) and still runs on Debian 12 (it needs libc 2.34). */
const suite = 'forky'

/** A file of a package. */
export interface PackagedFile {
  readonly name: string
  /** Relative to the root folder. */
  readonly file: string
}

const natsServer: PackagedFile = { name: 'nats-server', file: 'usr/sbin/nats-server' }

/** `apt-get update` reads 10 MB; with a slow mirror this is still enough. */
const aptMs = 180_000

/** Seconds until apt gives up a silent server, so that a mirror that is down is noticed soon. */
const aptSilenceS = 10

/**
 * Downloads a package of a newer Debian suite, that of nats-server unless another is named, with a private apt configuration
 * and unpacks it in `work`; returns the file. Nothing is installed, and the machine's own apt state is not touched. apt
 * checks the signature with the keyring that the machine's own sources name.
 */
export async function unpackDebianPackage(
  work: string,
  options: DebianOptions,
  wanted = natsServer,
): Promise<string> {
  const archives = await machineArchives(options.etc ?? '/etc')
  const failures: string[] = []
  for (const [index, archive] of archives.entries()) {
    const folder = join(work, String(index))
    try {
      return await unpackFrom(archive, folder, wanted)
    } catch (error) {
      const address = archive.uri.replace(/\/\/[^/]*@/, '//') // without a password
      failures.push(`${address}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  throw new Error(failures.join(', '))
}

async function machineArchives(etc: string): Promise<AptSource[]> {
  const os = parseOsRelease(await readFile(join(etc, 'os-release'), 'utf8').catch(() => ''))
  const kin = [os['ID'], ...(os['ID_LIKE'] ?? '').split(' ')]
  if (!kin.includes('debian') || kin.includes('ubuntu')) {
    throw new Error(`${os['PRETTY_NAME'] ?? 'this system'} does not use Debian's archive`)
  }
  const codename = os['DEBIAN_CODENAME'] ?? os['VERSION_CODENAME'] ?? ''
  const archives = debianArchives(await machineSources(join(etc, 'apt')), codename)
  if (archives.length > 0) return archives
  throw new Error(`${join(etc, 'apt')} has no Debian archive with suite ${codename} and component main`)
}

async function machineSources(apt: string): Promise<AptSource[]> {
  const parts = (await readdir(join(apt, 'sources.list.d')).catch(() => [])).toSorted((a, b) =>
    a.localeCompare(b),
  )
  const files = ['sources.list', ...parts.map((name) => join('sources.list.d', name))]
  const sources = files.map(async (file) => {
    const text = await readFile(join(apt, file), 'utf8').catch(() => '')
    if (file.endsWith('.sources')) return parseDeb822(text)
    return file.endsWith('.list') ? parseOneLine(text) : []
  })
  return (await Promise.all(sources)).flat()
}

async function unpackFrom(archive: AptSource, folder: string, { name, file }: PackagedFile): Promise<string> {
  await mkdir(join(folder, 'lists', 'partial'), { recursive: true })
  await mkdir(join(folder, 'cache', 'archives', 'partial'), { recursive: true })
  const architecture = (await run('dpkg', ['--print-architecture'], folder)).trim()
  await writeFile(join(folder, 'debian.sources'), sourcesFile(archive, architecture))
  await writeFile(join(folder, 'apt.conf'), aptConfiguration(folder))
  await run('apt-get', ['-c', 'apt.conf', 'update'], folder)
  await run('apt-get', ['-c', 'apt.conf', 'download', name], folder)
  const packageFile = (await readdir(folder)).find((entry) => entry.endsWith('.deb'))
  if (packageFile === undefined) throw new Error('apt-get download provided no package')
  await run('dpkg-deb', ['-x', packageFile, 'package'], folder)
  return join(folder, 'package', file)
}

function sourcesFile({ uri, signedBy }: AptSource, architecture: string): string {
  const fields = ['Types: deb', `URIs: ${uri}`, `Suites: ${suite}`, 'Components: main']
  // Only the list of packages: descriptions, translations and desktop data are several times its size.
  fields.push(`Architectures: ${architecture}`, 'Targets: Packages', 'Languages: none')
  if (signedBy !== undefined) fields.push(`Signed-By: ${signedBy}`)
  return `${fields.join('\n')}\n`
}

/** Read after the machine's own apt configuration, whose proxy settings stay in force. */
function aptConfiguration(folder: string): string {
  const quoted = (name: string): string => JSON.stringify(join(folder, name))
  return `
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
APT::Update::Error-Mode "any";
APT::Get::AllowUnauthenticated "false";
APT::Default-Release "";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::http::Timeout "${aptSilenceS}";
Acquire::https::Timeout "${aptSilenceS}";
Dir::Etc::sourcelist ${quoted('debian.sources')};
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State::Lists ${quoted('lists')};
Dir::Cache ${quoted('cache')};
${process.getuid?.() === 0 ? '// The user _apt may not enter our folders.\nAPT::Sandbox::User "root";' : ''}
`
}

async function run(command: string, args: string[], cwd: string): Promise<string> {
  return runProgram(command, args, { cwd, timeoutMs: aptMs }).catch((cause: unknown) => {
    throw new Error(whyFailed([command, ...args].join(' '), cause), { cause })
  })
}

function whyFailed(command: string, error: unknown): string {
  if (!(error instanceof ProgramError)) return String(error)
  if (error.failure === 'missing') return `${command.split(' ')[0]} is not installed`
  // apt's first complaint has the cause, those after it are what followed from it.
  const complaint = /^[EW]: (.*)/m.exec(error.stderr)?.[1]
  return `${command} failed: ${complaint ?? error.message}`
}

function parseOsRelease(text: string): Record<string, string> {
  const pairs = text.matchAll(/^([A-Z_]+)=["']?(.*?)["']?$/gm)
  return Object.fromEntries(pairs.map(([, name = '', value = '']) => [name, value]))
}
