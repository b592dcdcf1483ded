import { Argument, type Command, Option } from 'commander'
import { logLevels } from '../../subjects/observability/logging.ts'
import { product } from '../../subjects/kit/names.ts'
import {
  candidatesFor,
  candidatesText,
  completeCommand,
  completionExamples,
  completionScripts,
  type Shell,
} from './completion.ts'
import type { Context, Globals } from '../context.ts'
import { examplesText } from '../help.ts'
import { jsonText } from '../output/present.ts'

/** Adds the commands that are no capability of the platform. What each needs is loaded when it runs. */
export function addHandWritten(program: Command, context: Context): void {
  program
    .command('up')
    .summary('start the platform')
    .description('Starts the platform: broker, services and HTTP servers. Ctrl-C stops it in order.')
    .addOption(new Option('--log-level <level>', 'what is logged').choices(logLevels).default('info'))
    .addHelpText('after', examplesText([`${product} up`, `GANTRY_HOME=/srv/gantry ${product} up`]))
    .action(async (options: { logLevel: string }) => {
      const { up } = await import('../up/up.ts')
      context.exitCode = await up(context, options)
    })
  addAgent(program, context)
  program
    .command('info')
    .summary('what platform this is, and whether it is healthy')
    .description('What platform this is, where it can be reached, and whether it is healthy.')
    .addHelpText('after', examplesText([`${product} info`, `${product} info --json`]))
    .action(async (_, command: Command) => {
      const { info } = await import('./info.ts')
      context.exitCode = await info(context, command.optsWithGlobals<Globals>())
    })
  program
    .command('doctor')
    .summary('why a token is refused')
    .description(
      'Says whether the token in use opens the platform, and if not, why: the platform tells that to administrators alone.',
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
      'Shows the progress of a migration until it ends; without an argument, of all that run\n' +
        'or wait for their turn or next scan, also those that begin later, until none is left.\n' +
        'Live and recurring ones do not end by themselves.\n' +
        'The exit code is 0 when all were completed without failures.',
    )
    .argument('[migration]', 'name of the migration')
    .addHelpText('after', examplesText([`${product} watch nightly`, `${product} watch --json`]))
    .action(async (migrationId: string | undefined, _, command: Command) => {
      const { watch } = await import('../watch/watch.ts')
      context.exitCode = await watch(context, command.optsWithGlobals<Globals>(), migrationId)
    })
  addCredential(program, context)
  addCompletion(program, context)
}

function addAgent(program: Command, context: Context): void {
  program
    .command('agent')
    .summary('move files for a platform elsewhere')
    .description(
      'Moves files together with a platform, or in its place, until Ctrl-C or SIGTERM; then it finishes its work in progress.\n' +
        `It needs the token of an agent: "${product} agents register" makes one.`,
    )
    .option('--token <token>', 'token of the agent; others on this host can see it here: better --token-file')
    .option('--name <name>', 'name of the agent; default: that of its key')
    .option(
      '--share <path>',
      'folder of this host that it may read and write, the same on all hosts; may be repeated',
      (path: string, before: string[] | undefined) => [...(before ?? []), path],
    )
    .option('--threads <count>', 'worker threads; default: one for each core')
    .option('--bandwidth <size>', 'what it moves in a second at most, such as 50MiB')
    .addOption(new Option('--log-level <level>', 'what is logged').choices(logLevels).default('info'))
    .addHelpText(
      'after',
      examplesText([
        `${product} agent --token-file agent.token`,
        `${product} agent --share /data --bandwidth 50MiB`,
      ]),
    )
    .action(async (_, command: Command) => {
      const { agent } = await import('../assembly/agent.ts')
      context.exitCode = await agent(context, command.optsWithGlobals())
    })
}

/** `credential token`, `credential recover` and `credential hash`. */
function addCredential(program: Command, context: Context): void {
  const credential = program
    .command('credential')
    .summary('the token in use, and hashes of passwords')
    .description('About the API token in use, and passwords of the configuration.')
    .helpCommand(false)
  credential
    .command('hash')
    .summary('make the hash of a password for a properties file')
    .description('Reads a password from stdin and prints its bcrypt hash, for security.basic.password.')
    .addHelpText('after', examplesText([`${product} credential hash < password.txt`]))
    .action(async (_, command: Command) => {
      const { passwordHash } = await import('../sign-in/password-hash.ts')
      const hash = await passwordHash(await context.readStdin())
      const { json } = command.optsWithGlobals<Globals>()
      context.terminal.out(json ? jsonText(context.terminal, { hash }) : `${hash}\n`)
    })
  credential
    .command('recover')
    .summary('make the local operator an administrator again')
    .description(
      'Restores the operator key of the configuration folder when it was narrowed, revoked or lost.\n' +
        'It needs read access to the folder, and works whether the platform is running or not.',
    )
    .option('--yes', 'do not ask for confirmation')
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
    .command('token')
    .summary('print the token in use')
    .description('Prints the API token that commands present; it works for HTTP, NATS and WebSocket.')
    .addHelpText(
      'after',
      examplesText([
        `curl -H "Authorization: Bearer $(${product} credential token)" http://127.0.0.1:8080/api/v1/apikey`,
      ]),
    )
    .action(async (_, command: Command) => {
      const { findToken } = await import('../sign-in/token.ts')
      const { json, tokenFile } = command.optsWithGlobals<Globals>()
      const { token, source } = findToken({ ...context, tokenFile })
      context.terminal.out(json ? jsonText(context.terminal, { token, source }) : `${token}\n`)
    })
  addLogin(program, context)
}

function addLogin(program: Command, context: Context): void {
  program
    .command('login')
    .summary('sign in with a browser')
    .description(
      'Signs in at the identity provider, with a browser. The commands that follow use the session.',
    )
    .argument('[url]', 'address of the platform’s REST API; default: that of the token in use, or this host')
    .option('--no-browser', 'only print the address to open')
    .option('--device', 'sign in with a browser on another machine, by a code')
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
    .description('Ends the session that login has begun, and forgets it.')
    .addHelpText('after', examplesText([`${product} logout`]))
    .action(async (_, command: Command) => {
      const { logout } = await import('../sign-in/login.ts')
      await logout(context, command.optsWithGlobals<Globals>())
    })
}

/** `completion <shell>` prints a script, which asks the hidden `complete` at each TAB. */
function addCompletion(program: Command, { terminal }: Context): void {
  program
    .command('completion')
    .summary('print a script that completes commands in a shell')
    .description('Prints a script with which a shell completes commands and flags at TAB.')
    .addArgument(new Argument('<shell>', 'which shell').choices(Object.keys(completionScripts)))
    .addHelpText('after', examplesText(completionExamples))
    .action((shell: Shell) => terminal.out(completionScripts[shell]))
  program
    .command(completeCommand, { hidden: true })
    .argument('[words...]')
    .action((words: string[]) => terminal.out(candidatesText(candidatesFor(program, words))))
}
