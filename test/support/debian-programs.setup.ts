import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { type PackagedFile, unpackDebianPackage } from '../../broker/server/debian.ts'
import { peersFolder, provide } from './provide.ts'

/** By the variable in which tests find it. */
const programs: Readonly<Record<string, PackagedFile>> = {
  PROMTOOL: { name: 'promtool', file: 'usr/bin/promtool' },
  PROMETHEUS: { name: 'prometheus', file: 'usr/bin/prometheus' },
  DOCKER_COMPOSE: { name: 'docker-compose', file: 'usr/libexec/docker/cli-plugins/docker-compose' },
}

/** Gets programs of a newer Debian suite, without installing them. */
export async function setup(): Promise<void> {
  for (const [name, program] of Object.entries(programs)) await provide(name, () => programOf(program))
}

async function programOf(wanted: PackagedFile): Promise<string> {
  const folder = join(peersFolder(), `debian-${wanted.name}`)
  const path = join(folder, basename(wanted.file))
  if (existsSync(path)) return path
  const work = mkdtempSync(join(tmpdir(), 'gantry-package-'))
  try {
    const unpacked = await unpackDebianPackage(work, {}, wanted)
    mkdirSync(folder, { recursive: true })
    // There as a whole, or not at all.
    copyFileSync(unpacked, `${path}.new`)
    chmodSync(`${path}.new`, 0o755)
    renameSync(`${path}.new`, path)
    return path
  } catch (cause) {
    throw new Error(`Debian's package ${wanted.name} cannot be had: ${(cause as Error).message}`, { cause })
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
