import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import {
  flagOf,
  offsetKey,
  type PortKey,
  portKeyDescription,
  portKeys,
  portMeaning,
  portValue,
  variableOf,
} from '../../config/port-settings.ts'
import { defaultLogLevel, logLevels } from '../../subjects/observability/logging.ts'
import { isGantryError } from '../../subjects/kit/errors.ts'
import { product } from '../../subjects/kit/names.ts'
import { completionExamples, completionScript, type Shell, shells } from '../completion/scripts.ts'
import { commandNamed } from './aliases.ts'
import type { Context, Globals } from '../context.ts'
import type { CopyOptions } from '../copy/copy.ts'
import { verificationLevels } from '../../subjects/migrations/model/verification-terms.ts'
import { exitCodes } from '../exit-codes.ts'
import { withFix } from '../failure.ts'
import { examplesText } from '../help.ts'
import { presentOwn } from '../output/present.ts'

/** Adds the commands that are no capability of the platform. What each needs is loaded when it runs. */
export function addHandWritten(program: Command, context: Context): void {
  const portOptions = new Map(portKeys.map((key) => [key, portOption(key)]))
  const start = program
    .command('up')
    .summary('start the platform')
    .description('Starts the platform: broker, services and HTTP servers. Ctrl-C stops it gracefully.')
    .addOption(
      new Option('--log-level <level>', 'minimum level of log lines')
        .choices(logLevels)
        .default(defaultLogLevel),
    )
    .addHelpText(
      'after',
      examplesText([
        `${product} up`,
        `${product} up ${flagOf(offsetKey)} 1000`,
        `GANTRY_HOME=/srv/gantry ${product} up`,
      ]),
    )
    .action(async ({ logLevel, ...ports }: { logLevel: string }) => {
      const { up } = await import('../up/up.ts')
      context.exitCode = await up(context, { logLevel, ports: valuesOf(ports, portOptions) })
    })
  for (const option of portOptions.values()) start.addOption(option)
  addAgent(program, context)
  program
    .command('info')
    .summary('show version, addresses and health of the platform')
    .description('Shows the version, addresses and health of the platform.')
    .addHelpText('after', examplesText([`${product} info`, `${product} info --json`]))
    .action(async (_, command: Command) => {
      const { info } = await import('./info.ts')
      context.exitCode = await info(context, command.optsWithGlobals<Globals>())
    })
  program
    .command('doctor')
    .summary('find problems and show how to fix them')
    .description(
      'Checks whether the token in use is valid and, if not, shows why (only administrators can see the ' +
        'reason). Then checks versions, clocks, stores and components of the platform and, on its host, the ' +
        'configuration, ports, disk and limits, even if it is not running.\n' +
        `The exit code is ${exitCodes.failed.status} if a check fails.`,
    )
    .addHelpText('after', examplesText([`${product} doctor`, `${product} doctor --token-file token.txt`]))
    .action(async (_, command: Command) => {
      const { doctor } = await import('../up/doctor.ts')
      context.exitCode = await doctor(context, command.optsWithGlobals<Globals>())
    })
  program
    .command('watch')
    .summary('show the progress of migrations')
    .description(
      'Shows the progress of a migration until it ends. Without an argument, shows all migrations that run, ' +
        'or wait for their turn or next scan, including ones that start later, until none is left.\n' +
        'Live and recurring migrations run until you stop them.\n' +
        'The exit code is 0 if all migrations completed without failures.',
    )
    .argument('[migration]', 'migration name')
    .option('--metadata', 'watch a metadata migration, or all running ones')
    .addHelpText(
      'after',
      examplesText([
        `${product} watch nightly`,
        `${product} watch --json`,
        `${product} watch lake --metadata`,
      ]),
    )
    .action(async (name: string | undefined, { metadata }: { metadata?: true }, command: Command) => {
      const { watch } = await import('../watch/watch.ts')
      const { OfFiles } = await import('../watch/of-files.ts')
      const { OfMetadata } = await import('../watch/of-metadata.ts')
      const watched = metadata === true ? new OfMetadata(name) : new OfFiles(name)
      try {
        context.exitCode = await watch(context, command.optsWithGlobals<Globals>(), watched)
      } catch (error) {
        if (!isGantryError(error, 'NOT_FOUND')) throw error
        const fix =
          metadata === true
            ? `see "${product} metadata-migrations list", or omit --metadata for a migration of files`
            : `see "${product} migrations list", or add --metadata for a metadata migration`
        throw withFix(error, fix)
      }
    })
  addCopy(program, context)
  addApply(program, context)
  addConfig(program, context)
  addCredential(program, context)
  addCompletion(program, context)
  addHelp(program)
}

/** Help for the command that the words name, at any depth. */
function addHelp(program: Command): void {
  program
    .command('help')
    .summary('print help for a command')
    .description('Prints help for a command, the same as its option --help.')
    .argument('[command...]', 'words of the command')
    .addHelpText('after', examplesText([`${product} help copy`, `${product} help migrations create`]))
    .action((words: readonly string[]) => {
      const named = words.reduce<Command>(
        (command, word) =>
          commandNamed(command, word) ??
          command.error(`error: unknown command '${word}'`, { code: 'commander.unknownCommand' }),
        program,
      )
      named.help()
    })
}

const portOption = (key: PortKey): Option =>
  new Option(
    `${flagOf(key)} <${key === offsetKey ? 'number' : 'port'}>`,
    `${portKeyDescription(key)} (or ${variableOf(key)})`,
  ).argParser((text) => {
    if (portValue(key, text) === undefined) throw new InvalidArgumentError(`Use ${portMeaning(key)}.`)
    return text
  })

/** Values of options by what each is for. */
function valuesOf<K extends string>(
  values: Readonly<Record<string, unknown>>,
  options: ReadonlyMap<K, Option>,
): Partial<Record<K, string>> {
  const given = Array.from(options, ([key, option]) => [key, values[option.attributeName()]] as const)
  return Object.fromEntries(given.filter(([, value]) => value !== undefined)) as Partial<Record<K, string>>
}

const severalTimes = (text: string, before: string[] | undefined) => [...(before ?? []), text]

function addCopy(program: Command, context: Context): void {
  program
    .command('copy')
    .summary('copy a folder or bucket once and verify it')
    .description(
      'Copies SOURCE to TARGET once: adds missing filesystems, shows the plan, migrates, watches and verifies. ' +
        'Each is a folder on the platform’s host, NAME:/path in a filesystem, s3://bucket/prefix, ' +
        'gs://bucket/prefix or hdfs://host:port/path.\n' +
        'Credentials come from --source-option, --target-option or environment variables (AWS_ACCESS_KEY_ID, ' +
        'AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_ENDPOINT_URL; GOOGLE_APPLICATION_CREDENTIALS; ' +
        'HADOOP_USER_NAME).\n' +
        'Run the same command again to resume an interrupted copy or to update a completed one.\n' +
        `The exit code is ${exitCodes.ok.status} only if all files are copied and verified, ${exitCodes.failed.status} otherwise, and ${exitCodes.interrupted.status} after Ctrl-C, which does not stop the migration.`,
    )
    .argument('<source>', 'source location')
    .argument('<target>', 'target location')
    .option(
      '--source-option <key=value>',
      'option for a new source filesystem; may be repeated',
      severalTimes,
    )
    .option(
      '--target-option <key=value>',
      'option for a new target filesystem; may be repeated',
      severalTimes,
    )
    .option(
      '--exclude <glob>',
      'leave out paths that match, such as *.tmp, or /logs/** in SOURCE; may be repeated',
      severalTimes,
    )
    .option('--include <glob>', 'copy only files that match; may be repeated', severalTimes)
    .option('--checksum', 'compare existing files by content instead of size and modification time')
    .option('--attributes', 'keep extended attributes and access control lists too')
    .option('--dry-run', 'show the plan without copying or keeping anything')
    .addOption(
      new Option('--verify-level <level>', 'what the verification compares')
        .choices(Object.keys(verificationLevels))
        .default('size'),
    )
    .addHelpText(
      'after',
      examplesText([
        `${product} copy /srv/data /mnt/copy`,
        `${product} copy /srv/data s3://backup/data --dry-run`,
        `${product} copy lake:/raw /mnt/raw --exclude '*.tmp' --exclude '/logs/**'`,
      ]),
    )
    .action(async (source: string, target: string, options: CopyOptions, command: Command) => {
      const { copy } = await import('../copy/copy.ts')
      const globals = command.optsWithGlobals<Globals>()
      context.exitCode = await copy(context, globals, [source, target], options)
    })
}

/** `apply` and `export` */
function addApply(program: Command, context: Context): void {
  program
    .command('apply')
    .summary('create or update objects from a file')
    .description(
      'Creates and updates settings, filesystems, rules, path mappings, migrations of files and metadata, ' +
        'catalogs, roles, assignments, keys, alert rules and webhooks from the YAML documents of a file, in ' +
        'order. Objects that already match are not changed, and other objects stay. If an object fails, the ' +
        'others are still applied.\n' +
        '${NAME} is replaced by an environment variable. "export" prints the same format.',
    )
    .requiredOption('-f, --file <path>', 'file, or - for stdin')
    .option('--dry-run', 'show what would be created or changed')
    .addHelpText(
      'after',
      examplesText([`${product} apply -f platform.yaml --dry-run`, `${product} apply -f platform.yaml`]),
    )
    .action(async (options: { file: string; dryRun?: true }, command: Command) => {
      const { apply } = await import('../apply/apply.ts')
      await apply(context, command.optsWithGlobals<Globals>(), options)
    })
  program
    .command('export')
    .summary('print the configuration in the format of apply, without secrets')
    .description(
      'Prints all objects that "apply" supports as YAML documents. Secrets are omitted and listed in a comment.',
    )
    .addHelpText('after', examplesText([`${product} export > platform.yaml`]))
    .action(async (_, command: Command) => {
      const { exportAll } = await import('../apply/apply.ts')
      await exportAll(context, command.optsWithGlobals<Globals>())
    })
}

function addAgent(program: Command, context: Context): void {
  program
    .command('agent')
    .summary('run a transfer agent for a platform on another host')
    .description(
      'Moves files alongside a platform or instead of it until Ctrl-C or SIGTERM, then finishes the work ' +
        'in progress.\n' +
        `Requires an agent token: create one with "${product} agents register".`,
    )
    .option('--token <token>', 'agent token; visible to other users of this host, so prefer --token-file')
    .option('--name <name>', 'agent name; default: the name of its key')
    .option(
      '--share <path>',
      'shared folder that the agent may read and write, at the same path on all hosts; may be repeated',
      severalTimes,
    )
    .option('--catalogs', 'also reach metadata catalogs whose option "agent" names this agent')
    .option('--threads <count>', 'number of worker threads; default: one per core')
    .option('--bandwidth <size>', 'maximum throughput per second, such as 50MiB')
    .addOption(
      new Option('--log-level <level>', 'minimum level of log lines')
        .choices(logLevels)
        .default(defaultLogLevel),
    )
    .addHelpText(
      'after',
      examplesText([
        `${product} agent --token-file agent.token`,
        `${product} agent --share /data --bandwidth 50MiB`,
        `${product} agent --token-file agent.token --catalogs`,
      ]),
    )
    .action(async (_, command: Command) => {
      const { agent } = await import('../assembly/agent.ts')
      context.exitCode = await agent(context, command.optsWithGlobals())
    })
}

/** `config check` and `config print` */
function addConfig(program: Command, context: Context): void {
  const config = program
    .command('config')
    .summary('check and show the configuration')
    .description('Checks and shows the files of the configuration folder. The platform does not need to run.')
    .helpCommand(false)
  config
    .command('check')
    .summary('find errors before a restart')
    .description('Lists all errors with file, line and fix. Changes nothing.')
    .addHelpText('after', examplesText([`${product} config check`]))
    .action(async (_, command: Command) => {
      const { checkConfig } = await import('../up/config.ts')
      context.exitCode = checkConfig(context, command.optsWithGlobals<Globals>())
    })
  config
    .command('print')
    .summary('show the current settings')
    .description('Shows the settings of all files. Secrets are masked; the identity is omitted.')
    .option('--defaults', 'include all settings with their defaults')
    .addHelpText('after', examplesText([`${product} config print`, `${product} config print --defaults`]))
    .action(async (options: { defaults?: true }, command: Command) => {
      const { printConfig } = await import('../up/config.ts')
      printConfig(context, command.optsWithGlobals<Globals>(), options)
    })
}

/** `credential token`, `credential recover`, `credential reset-password` and `credential hash`. */
function addCredential(program: Command, context: Context): void {
  const credential = program
    .command('credential')
    .summary('manage the API token in use and password hashes')
    .description('Manages the API token in use and the passwords of the configuration.')
    .helpCommand(false)
  credential
    .command('hash')
    .summary('create a password hash for a properties file')
    .description('Reads a password from stdin and prints its bcrypt hash, for security.basic.password.')
    .addHelpText('after', examplesText([`${product} credential hash < password.txt`]))
    .action(async (_, command: Command) => {
      const { passwordHash } = await import('../sign-in/password-hash.ts')
      const hash = await passwordHash(await context.readStdin())
      presentOwn(context.terminal, command.optsWithGlobals<Globals>(), { hash }, () => `${hash}\n`)
    })
  credential
    .command('recover')
    .summary('restore administrator rights of the local operator')
    .description(
      'Restores the operator key of the configuration folder if its permissions were reduced, or if it was ' +
        'revoked or lost. Requires read access to the folder. The platform does not need to run.',
    )
    .option('--yes', 'skip the confirmation')
    .addHelpText(
      'after',
      examplesText([
        `${product} credential recover`,
        `GANTRY_HOME=/srv/gantry ${product} credential recover --yes`,
      ]),
    )
    .action(async (_, command: Command) => {
      const { recover } = await import('../up/recover.ts')
      await recover(context, command.optsWithGlobals())
    })
  credential
    .command('reset-password')
    .summary('set a new password for the development sign-in page')
    .description(
      'Sets a new password for a user of the development sign-in page, prints it once and ends all ' +
        'sessions of the user. Requires write access to the configuration folder. The platform does not need to run.',
    )
    .argument('<user>', 'user name: administrator or viewer')
    .addHelpText('after', examplesText([`${product} credential reset-password administrator`]))
    .action(async (user: string, _, command: Command) => {
      const { resetDevelopmentPassword } = await import('../up/reset-password.ts')
      await resetDevelopmentPassword(context, command.optsWithGlobals<Globals>(), user)
    })
  credential
    .command('token')
    .summary('print the API token in use')
    .description('Prints the API token that commands use. It is valid for HTTP, NATS and WebSocket.')
    .addHelpText(
      'after',
      examplesText([
        `curl -H "Authorization: Bearer $(${product} credential token)" http://127.0.0.1:8080/api/v1/apikey`,
      ]),
    )
    .action(async (_, command: Command) => {
      const { findToken } = await import('../sign-in/token.ts')
      const globals = command.optsWithGlobals<Globals>()
      const { token, source } = findToken({ ...context, tokenFile: globals.tokenFile })
      presentOwn(context.terminal, globals, { token, source }, () => `${token}\n`)
    })
  addLogin(program, context)
}

function addLogin(program: Command, context: Context): void {
  program
    .command('login')
    .summary('sign in with a browser')
    .description('Signs in at the identity provider with a browser. Subsequent commands use the session.')
    .argument(
      '[url]',
      'address of the REST API of the platform; default: from the token in use, or this host',
    )
    .option('--no-browser', 'print the address instead of opening a browser')
    .option('--device', 'sign in with a code and a browser on another machine')
    .addHelpText('after', examplesText([`${product} login`, `${product} login https://gantry.example`]))
    .action(
      async (
        url: string | undefined,
        { browser, device = false }: { browser: boolean; device?: boolean },
        command: Command,
      ) => {
        const { login } = await import('../sign-in/login.ts')
        await login(context, command.optsWithGlobals<Globals>(), { url, browser, device })
      },
    )
  program
    .command('logout')
    .summary('end the session of login')
    .description('Ends the session of login and deletes its token from this host.')
    .addHelpText('after', examplesText([`${product} logout`]))
    .action(async (_, command: Command) => {
      const { logout } = await import('../sign-in/login.ts')
      await logout(context, command.optsWithGlobals<Globals>())
    })
}

/** `completion <shell>` prints a script, which asks `complete` at each TAB. */
function addCompletion(program: Command, context: Context): void {
  const { terminal } = context
  program
    .command('completion')
    .summary('print a shell completion script')
    .description(
      'Prints a shell script that completes commands, flags and names of migrations, stores and other objects.',
    )
    .addArgument(new Argument('<shell>', 'shell').choices(shells))
    .addHelpText('after', examplesText(completionExamples(terminal.command.anywhere)))
    .action((shell: Shell) => terminal.out(completionScript(shell, terminal.command.anywhere)))
}
