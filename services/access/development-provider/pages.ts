import { escapeHtml, plainPage } from '../../../subjects/kit/html.ts'
import { title } from '../../../subjects/kit/names.ts'

/** A try that failed: what was wrong, and the user name, which is not typed again. */
interface LastTry {
  readonly problem: string
  readonly name: string
}

/** The sign-in page. @param command how the command line is called */
export const signInPage = (action: string, command: string, last?: LastTry): string =>
  plainPage(
    `Sign in to ${title}`,
    `<p class="notice"><strong>For development only.</strong> ${title} provides this sign-in page because no identity provider is configured. The passwords were shown at the first start. To set a new one, run <code>${escapeHtml(command)} credential reset-password administrator</code>.</p>
${last === undefined ? '' : `<p role="alert">${escapeHtml(last.problem)}</p>`}
<form method="post" action="${escapeHtml(action)}">
<label for="name">User name (administrator or viewer)</label>
<input id="name" name="name" autocomplete="username" required${last === undefined ? ' autofocus' : ` value="${escapeHtml(last.name)}"`}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required${last === undefined ? '' : ' autofocus'}>
<button type="submit">Sign in</button>
</form>`,
  )

/** Presses the button. */
export const signOutScript = "document.querySelector('button').click()"

/**
 * @param form made by the provider, with the id that the button refers to
 * @param isAsked whether nobody need press the button
 */
export const signOutPage = (form: string, isAsked: boolean): string =>
  plainPage(
    'Sign out',
    `${form}
<p class="notice"><strong>For development only.</strong> Do you also want to end your session at this sign-in page?</p>
<button type="submit" form="op.logoutForm" name="logout" value="yes">Sign out</button>${isAsked ? `\n<script>${signOutScript}</script>` : ''}`,
  )

/** @param publicUrl of the platform */
export const signedOutPage = (publicUrl: string): string =>
  plainPage(
    'Signed out',
    `<p>Your session at this sign-in page has ended.</p>
<p><a href="${escapeHtml(publicUrl)}">Back to ${title}</a></p>`,
  )

/** Where the code is entered that another machine shows. @param form made by the provider, as below */
export const codePage = (form: string, wasWrong: boolean): string =>
  plainPage(
    'Enter the code',
    `${wasWrong ? '<p role="alert">This code is not valid. Try again.</p>\n' : ''}<p>Enter the code that is shown on the other machine.</p>
${form}
<button type="submit" form="op.deviceInputForm">Continue</button>`,
  )

export const confirmPage = (form: string, code: string): string =>
  plainPage(
    'Confirm the code',
    `<p>Continue only if you started this sign-in on another machine and it shows the code <strong>${escapeHtml(code)}</strong>.</p>
${form}
<button type="submit" form="op.deviceConfirmForm">Continue</button>`,
  )
