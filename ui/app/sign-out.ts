import { signIn } from '../../subjects/access/sign-in.ts'
import { logoutPath } from '../../subjects/kit/names.ts'
import { rememberPlace } from '../data/return-place.ts'
import { ownToken, type Session } from '../data/session.ts'

/** Ends the session of this page, which the browser may have replaced by another one, or lost. */
export async function signOut(session: Session): Promise<void> {
  rememberPlace()
  const isOwn = await ownToken().then(
    (token) => session.isOwn(token),
    () => false,
  )
  if (!isOwn) {
    // What has gone wrong with it shows at the next sign-in; the page is left all the same.
    await session.call(signIn.out, {}).catch(() => undefined)
    location.replace('/')
    return
  }
  // The platform's own page goes on from there, to the identity provider.
  const form = document.createElement('form')
  form.method = 'post'
  form.action = logoutPath
  document.body.append(form)
  form.submit()
}
