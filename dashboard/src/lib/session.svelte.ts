// Who is signed in, and what they may do. Screens stay open when a session ends: the sign-in form is laid over them, so that
// nothing that was typed is lost.
import { ApiError, get, post, put, remove, useCsrf, whenForbidden, whenUnauthenticated } from './api';
import { explain } from './toasts.svelte';
import type { Ability, Session } from './types';

type Status = 'loading' | 'out' | 'in' | 'expired' | 'unreachable';

class SessionState {
  status = $state<Status>('loading');
  current = $state<Session | null>(null);
  /** Why the server does not say who is signed in. Empty if it was not reached. */
  fault = $state('');

  get member() {
    return this.current?.member ?? null;
  }

  can(ability: Ability): boolean {
    const abilities = this.current?.abilities ?? [];
    return abilities.includes(ability) || (ability === 'view' && abilities.includes('preview'));
  }

  get seesTrash(): boolean {
    return this.can('preview') && this.can('delete');
  }

  /** The page about search: its reports, or the steering of what is found. */
  get seesSearch(): boolean {
    return this.can('analytics:view') || this.can('manage');
  }

  get isOwner(): boolean {
    return this.current?.role === 'owner' || this.can('manage');
  }

  async load(): Promise<void> {
    try {
      this.enter((await get<{ data: Session }>('/v2/session')).data);
    } catch (error) {
      const { status } = error instanceof ApiError ? error : { status: 0 };
      this.fault = status === 0 ? '' : explain(error);
      // A server that fails, starts or has too much to do does not say that nobody is signed in.
      this.status = status === 401 ? 'out' : 'unreachable';
    }
  }

  async signIn(email: string, password: string): Promise<void> {
    this.enter((await post<{ data: Session }>('/v2/session', { email, password })).data);
  }

  /** All sessions of the member end. This browser gets a new one. */
  async changePassword(present: string, password: string): Promise<void> {
    this.enter((await put<{ data: Session }>('/v2/session/password', { current_password: present, password })).data);
  }

  enter(session: Session): void {
    // Another member must not see what the one before had open, nor save it.
    if (this.status === 'expired' && this.current && this.current.member.id !== session.member.id) return location.reload();
    this.current = session;
    useCsrf(session.csrf);
    this.status = 'in';
    for (const wake of this.waiting.splice(0)) wake(true);
  }

  /** Requests of a session that has ended wait here for the next one. */
  private waiting: ((signedIn: boolean) => void)[] = [];

  /** Without a screen behind the sign-in form, nothing waits. */
  expire(): Promise<boolean> {
    if (this.status !== 'in' && this.status !== 'expired') return Promise.resolve(false);
    this.status = 'expired';
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  /** All tabs have the session that began last. If it belongs to another member, the sign-in form is shown. */
  async renew(): Promise<void> {
    const found = await get<{ data: Session }>('/v2/session').catch(() => null);
    if (!found) return;
    if (found.data.member.id === this.member?.id) this.enter(found.data);
    else await this.expire();
  }

  async signOut(): Promise<void> {
    await remove('/v2/session');
    location.assign('/admin/');
  }
}

export const session = new SessionState();

whenUnauthenticated(() => session.expire());
whenForbidden(() => session.renew());
