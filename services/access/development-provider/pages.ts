import { escapeHtml, plainPage } from '../../../subjects/kit/html.ts'
import { title } from '../../../subjects/kit/names.ts'

/** The sign-in page. @param problem what was wrong with the last try */
export const signInPage = (action: string, problem?: string): string =>
  plainPage(
    `Sign in to ${title}`,
    `<p class="notice"><strong>For development.</strong> ${title} runs this sign-in page itself, as no identity provider is configured. The passwords were shown at its first start.</p>
${problem === undefined ? '' : `<p role="alert">${escapeHtml(problem)}</p>`}
<form method="post" action="${escapeHtml(action)}">
<label for="name">Name: administrator or viewer</label>
<input id="name" name="name" autocomplete="username" required autofocus>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required>
<button type="submit">Sign in</button>
</form>`,
  )

/** @param form made by the provider, with the id that the button refers to */
export const signOutPage = (form: string): string =>
  plainPage(
    'Sign out',
    `${form}
<p class="notice"><strong>For development.</strong> End the session at this sign-in page as well?</p>
<button type="submit" form="op.logoutForm" name="logout" value="yes">Sign out</button>`,
  )

/** Where the code is entered that another machine shows. @param form made by the provider, as below */
export const codePage = (form: string, wasWrong: boolean): string =>
  plainPage(
    'Enter the code',
    `${wasWrong ? '<p role="alert">This is no code that we have given out; try again.</p>\n' : ''}<p>The other machine shows it.</p>
${form}
<button type="submit" form="op.deviceInputForm">Go on</button>`,
  )

export const confirmPage = (form: string, code: string): string =>
  plainPage(
    'Is this the code?',
    `<p>Go on only if you have begun to sign in at another machine, and it shows <strong>${escapeHtml(code)}</strong>.</p>
${form}
<button type="submit" form="op.deviceConfirmForm">Go on</button>`,
  )
