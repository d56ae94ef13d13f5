// Package web serves people and their tools what is stored: findings, incidents
// and the state of the service, as JSON, read-only. It shows what others computed
// and computes nothing.
package web
