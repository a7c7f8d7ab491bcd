//! Many at the same instant.

use crate::tenant::Reply;

/// Does a thing many times at the same instant, each in a task of its own.
pub async fn at_once<F>(times: usize, act: impl Fn(usize) -> F) -> Vec<Reply>
where
    F: Future<Output = Reply> + Send + 'static,
{
    let tasks: Vec<_> = (0..times).map(|number| tokio::spawn(act(number))).collect();
    let mut replies = Vec::with_capacity(times);
    for task in tasks {
        replies.push(task.await.expect("no task panics"));
    }
    replies
}

/// How many of the answers have a status.
pub fn count(replies: &[Reply], status: u16) -> usize {
    replies.iter().filter(|reply| reply.status.as_u16() == status).count()
}
