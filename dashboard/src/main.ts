import './styles/tokens.css';
import './styles/base.css';
import { mount } from 'svelte';
import App from './App.svelte';
import { applyScheme } from './lib/scheme';

applyScheme();
mount(App, { target: document.getElementById('app')! });
