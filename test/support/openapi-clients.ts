import { hash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, delimiter, join } from 'node:path'
import { runProgram } from '../../broker/server/run-program.ts'
import { peersFolder } from './provide.ts'

const sources = join(import.meta.dirname, 'openapi-clients')
/** Half a minute where nothing else runs. */
const timeoutMs = 10 * 60_000

/** A command that makes the ten calls, as a program and its arguments. */
type Command = readonly [program: string, ...args: string[]]

/** How a client is made in a language: what has to be there, what the generator is told, and how its calls are built and run. */
interface Language {
  /** Variables in which the setups tell where it is. */
  readonly needs: readonly string[]
  readonly generator: readonly string[]
  /** The file that makes the calls, and where it goes among those that were generated. */
  readonly calls: string
  readonly goesTo?: string
  readonly build?: (folder: string) => Promise<unknown>
  readonly command: (folder: string) => Command
}

const env = (name: string): string => process.env[name] ?? ''
const tsc = join(import.meta.dirname, '../../node_modules/.bin/tsc')
const classPath = (folder: string) => [join(folder, 'classes'), env('OPENAPI_JAVA_CLASSES')].join(delimiter)

export const languages: Readonly<Record<string, Language>> = {
  Python: {
    needs: ['PYTHON_FOR_CLIENTS'],
    generator: ['-g', 'python', '--additional-properties=packageName=gantry_client'],
    calls: 'calls.py',
    command: (folder) => [env('PYTHON_FOR_CLIENTS'), join(folder, 'calls.py')],
  },
  Go: {
    needs: ['GO'],
    generator: [
      '-g',
      'go',
      '--git-user-id=gantry',
      '--git-repo-id=client',
      '--additional-properties=packageName=client',
    ],
    calls: 'main.go',
    goesTo: 'calls',
    build: (folder) =>
      runProgram(env('GO'), ['build', '-o', 'ten-calls', './calls'], {
        cwd: folder,
        timeoutMs,
        env: { GOFLAGS: '' },
      }),
    command: (folder) => [join(folder, 'ten-calls')],
  },
  TypeScript: {
    needs: [],
    generator: ['-g', 'typescript-fetch', '--additional-properties=importFileExtension=.js'],
    calls: 'calls.ts',
    build: async (folder) => {
      const types = join(import.meta.dirname, '../../node_modules/@types')
      writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
      writeFileSync(
        join(folder, 'tsconfig.json'),
        JSON.stringify({
          compilerOptions: {
            strict: true,
            target: 'es2023',
            lib: ['es2023', 'dom', 'dom.iterable'],
            module: 'nodenext',
            outDir: 'built',
            rootDir: '.',
            skipLibCheck: true,
            typeRoots: [types],
            types: ['node'],
          },
        }),
      )
      await runProgram(process.execPath, [tsc, '-p', folder], { timeoutMs })
    },
    command: (folder) => [process.execPath, join(folder, 'built/calls.js')],
  },
  Java: {
    needs: ['OPENAPI_JAVA_CLASSES'],
    generator: [
      '-g',
      'java',
      '--library=native',
      '--additional-properties=openApiNullable=false,hideGenerationTimestamp=true',
    ],
    calls: 'Calls.java',
    build: (folder) => {
      const files = [join(folder, 'Calls.java'), ...globSync(join(folder, 'src/main/java/**/*.java'))]
      const list = join(folder, 'files.txt')
      writeFileSync(list, files.join('\n'))
      const args = [
        '-encoding',
        'UTF-8',
        '-nowarn',
        '-proc:none',
        '-cp',
        env('OPENAPI_JAVA_CLASSES'),
        '-d',
        join(folder, 'classes'),
        `@${list}`,
      ]
      return runProgram('javac', args, { timeoutMs })
    },
    command: (folder) => ['java', '-cp', classPath(folder), 'Calls'],
  },
}

/** Java begins sooner so, and is done before it would pay to compile more. */
const shortRun = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC']

/**
 * The client of a language for a document, generated and built, in the cache folder.
 * @returns the command that makes ten calls
 */
export async function clientFor(name: string, document: string): Promise<Command> {
  const language = languages[name]!
  const calls = join(sources, language.calls)
  const generator = env('OPENAPI_GENERATOR')
  const made = [document, readFileSync(calls, 'utf8'), basename(generator), ...language.generator].join('\n')
  const folder = join(peersFolder(), `openapi-client-${name}-${hash('sha256', made).slice(0, 12)}`)
  if (!existsSync(folder)) {
    const work = `${folder}.${process.pid}`
    try {
      mkdirSync(work, { recursive: true })
      writeFileSync(join(work, 'openapi.json'), document)
      const only = '--global-property=apiTests=false,modelTests=false,apiDocs=false,modelDocs=false'
      const args = ['generate', '-i', join(work, 'openapi.json'), '-o', work, only, ...language.generator]
      await runProgram('java', [...shortRun, '-jar', generator, ...args], { timeoutMs })
      const place = join(work, language.goesTo ?? '.')
      mkdirSync(place, { recursive: true })
      cpSync(calls, join(place, language.calls))
      await language.build?.(work)
      for (const older of globSync(join(peersFolder(), `openapi-client-${name}-*`)))
        if (older !== work) rmSync(older, { recursive: true, force: true })
      renameSync(work, folder)
    } finally {
      rmSync(work, { recursive: true, force: true })
    }
  }
  return language.command(folder)
}
